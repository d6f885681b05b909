package codes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/rowfile"
)

var jsonlFormat = format{rowfile.Format{Extension: ".jsonl"}, openJSONL,
	func(f *atomicfile.File, c Content, _ []int) (rowfile.Encoder[uint32], error) {
		return &jsonlEncoder{file: f, levels: len(c.Vocab)}, nil
	}}

func openJSONL(path string, file *os.File, _ int64) (*File, error) {
	out, err := rowfile.NewSpool("", path)
	if err != nil {
		return nil, err
	}
	rows, levels, err := spoolJSONL(path, file, out)
	if err == nil {
		err = out.Finish()
	}
	if err != nil {
		out.Close()
		return nil, err
	}
	file.Close()
	return tableFile(rowfile.SpooledTable[uint32](path, out, rows, levels), out), nil
}

func spoolJSONL(path string, file io.Reader, out *rowfile.Spool) (rows, levels int, err error) {
	lines := rowfile.NewLines(file)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var record struct {
			Row   *int64   `json:"row"`
			Codes []uint32 `json:"codes"`
		}
		if err := json.Unmarshal(line, &record); err != nil || len(record.Codes) == 0 || bytes.Contains(line, []byte("null")) {
			return 0, 0, fmt.Errorf(`row %d of %s is no line like {"row":%d,"codes":[1,2]}: %.60q`, rows, path, rows, line)
		}
		if record.Row != nil && *record.Row != int64(rows) {
			return 0, 0, outOfOrder(path, int64(rows), *record.Row)
		}
		if rows == 0 {
			levels = len(record.Codes)
		}
		if len(record.Codes) != levels {
			return 0, 0, fmt.Errorf("row %d of %s has %d codes, the rows before it have %d; all must be of one length",
				rows, path, len(record.Codes), levels)
		}
		if _, err := out.Write(rowfile.BytesOf(record.Codes)); err != nil {
			return 0, 0, err
		}
		rows++
	}
	if err := rowfile.LinesError(path, lines); err != nil {
		return 0, 0, err
	}
	if rows == 0 {
		return 0, 0, fmt.Errorf("%s has no rows; check what was saved", path)
	}
	return rows, levels, nil
}

func outOfOrder(path string, want, got int64) error {
	return fmt.Errorf("row %d of %s is numbered %d; codes must be complete and in order: sort them by row, or write them again",
		want, path, got)
}

// jsonlEncoder writes one object a line.
type jsonlEncoder struct {
	file    *atomicfile.File
	levels  int
	scratch []byte
}

func (e *jsonlEncoder) Encode(first int, codes []uint32) error {
	e.scratch = e.scratch[:0]
	for i, code := range codes {
		separator := ","
		if i%e.levels == 0 {
			e.scratch = append(e.scratch, `{"row":`...)
			e.scratch = strconv.AppendInt(e.scratch, int64(first+i/e.levels), 10)
			separator = `,"codes":[`
		}
		e.scratch = append(e.scratch, separator...)
		e.scratch = strconv.AppendUint(e.scratch, uint64(code), 10)
		if i%e.levels == e.levels-1 {
			e.scratch = append(e.scratch, "]}\n"...)
		}
	}
	_, err := e.file.Write(e.scratch)
	return err
}

func (e *jsonlEncoder) Finish() error { return nil }
