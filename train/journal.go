package train

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/gritvq/gritvq/internal/memory"
)

// LogFile is the log of a run inside its directory: a JSON record a line.
const LogFile = "log.jsonl"

// journal appends records to the log. A resumed run cuts off the records
// after its checkpoint.
type journal struct {
	file *os.File
	size int64
}

func openJournal(path string, size int64) (*journal, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the training log: %w", err)
	}
	before, err := io.ReadAll(io.LimitReader(f, size)) // lost records are not replaced by zeros
	size = int64(bytes.LastIndexByte(before, '\n') + 1)
	if err == nil {
		err = f.Truncate(size)
	}
	if err == nil {
		_, err = f.Seek(size, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("opening the training log: %w", err)
	}
	return &journal{file: f, size: size}, nil
}

func (j *journal) write(record any) error {
	line, err := json.Marshal(record)
	if err == nil {
		_, err = j.file.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("writing the training log: %w", err)
	}
	j.size += int64(len(line)) + 1
	return nil
}

// Finite keeps records valid JSON: a number that is not finite is written as -1,
// and the event beside it says why.
func Finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return -1
	}
	return x
}

// ReadLog reads the records of a log. Damaged lines are left out: no run depends on its log.
func ReadLog[R any](path string) ([]R, error) {
	content, err := memory.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the training log: %w", err)
	}
	var records []R
	for line := range bytes.Lines(content) {
		var r R
		if json.Unmarshal(line, &r) == nil {
			records = append(records, r)
		}
	}
	return records, nil
}

// IsLog says whether a file is the log of a run, which may have no records yet.
func IsLog(path string) bool {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return err == nil
	}
	records, err := ReadLog[Record](path)
	return err == nil && len(records) > 0 && records[0].Step > 0
}
