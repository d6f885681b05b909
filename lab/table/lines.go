package table

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/gritvq/gritvq/internal/atomicfile"
)

// ReadLines reads a file of values, a line of JSON each; blank lines are skipped.
func ReadLines[T interface{ Check() error }](name string) ([]T, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return DecodeLines[T](name, file)
}

// DecodeLines is [ReadLines] of an open file with a name.
func DecodeLines[T interface{ Check() error }](name string, from io.Reader) ([]T, error) {
	var all []T
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<26)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var value T
		err := json.Unmarshal(line, &value)
		if err == nil {
			err = value.Check()
		}
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, n, err)
		}
		all = append(all, value)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return all, nil
}

// WriteLines writes values, a line of JSON each, whole or not at all.
func WriteLines[T any](path string, values []T) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		for _, v := range values {
			if err := encoder.Encode(v); err != nil {
				return err
			}
		}
		return nil
	})
}
