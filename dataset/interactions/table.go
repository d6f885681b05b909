package interactions

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gritvq/gritvq/internal/parquetfile"
	"github.com/gritvq/gritvq/internal/rowfile"
	"github.com/parquet-go/parquet-go"
)

// table is a file of rows and columns: a text with separators, or parquet.
type table struct {
	path string
	unit string // that counts rows in messages
	// first is the first row of a text, or the names of the columns of parquet.
	first []string
	at    int  // line of first
	named bool // first holds names for certain
	// double says that columns are separated by "::", as MovieLens has it.
	double bool
	file   io.Closer
	text   rowReader
	pages  *parquetfile.Columns
}

// textExtensions are those of tables, with their usual separators.
var textExtensions = map[string]string{".csv": ",", ".tsv": "\t", ".tab": "\t", ".data": "\t", ".psv": "|", ".item": "|", ".dat": "::"}

// openTable opens a table. kinds completes the sentence "expected".
func openTable(path, kinds string) (*table, error) {
	in, err := openFile(path)
	if err != nil {
		return nil, err
	}
	t, err := in.table(kinds)
	if err != nil {
		in.Close()
	}
	return t, err
}

// rows visits the columns at the given places, -1 being empty ones, row by row; header skips the first. The fields are
// valid until visit returns. Its errors, and those of a text, name the line.
func (t *table) rows(ctx context.Context, places []int, header bool, visit func(n int, fields []string) error) error {
	fields, count := make([]string, len(places)), 0
	proceed := func() error {
		if count++; count%pause == 1 && ctx.Err() != nil {
			return fmt.Errorf("reading %s was stopped: %w", t.path, ctx.Err())
		}
		return nil
	}
	if t.pages != nil {
		var names []string
		var slots []int
		for i, at := range places {
			if at >= 0 {
				names, slots = append(names, t.first[at]), append(slots, i)
			}
		}
		return t.pages.EachRow(ctx, names, func(values []parquet.Value) error {
			if err := proceed(); err != nil {
				return err
			}
			for i, v := range values {
				fields[slots[i]] = valueText(v)
			}
			return visit(count-1, fields)
		})
	}
	row, line, err := t.first, t.at, error(nil)
	if header || len(row) == 0 {
		row, line, err = t.text.next(t.path)
	}
	for ; !errors.Is(err, io.EOF); row, line, err = t.text.next(t.path) {
		if err == nil {
			err = proceed()
		}
		if err != nil {
			return err
		}
		for i, at := range places {
			if at >= 0 {
				fields[i] = strings.TrimSpace(utf8Text(row[at]))
			}
		}
		if err := visit(line, fields); err != nil {
			return err
		}
	}
	return nil
}

// input is an open file of any kind.
type input struct {
	*os.File
	path      string
	size      int64
	head      []byte
	extension string // in lower case
}

const headBytes = 1 << 16

// openFile opens a file and refuses what no reader understands.
func openFile(path string) (*input, error) {
	file, size, err := rowfile.Open(path)
	if err != nil {
		return nil, err
	}
	in := &input{File: file, path: path, size: size, head: make([]byte, headBytes), extension: strings.ToLower(filepath.Ext(path))}
	n, err := file.ReadAt(in.head, 0)
	in.head = in.head[:n]
	starts := func(magic ...string) bool {
		return slices.ContainsFunc(magic, func(m string) bool { return bytes.HasPrefix(in.head, []byte(m)) })
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		err = fmt.Errorf("reading %s: %w", path, err)
	case starts("\x1f\x8b", "\x28\xb5\x2f\xfd", "PK\x03\x04"):
		err = fmt.Errorf("%s is compressed; decompress it first", path)
	case starts("\xff\xfe", "\xfe\xff"):
		err = fmt.Errorf("%s is text in UTF-16; save it as UTF-8", path)
	default:
		err = nil
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return in, nil
}

func (in *input) isParquet() bool {
	return bytes.HasPrefix(in.head, []byte("PAR1")) || in.extension == ".parquet"
}

// withoutMark is the text without the byte order mark that some programs put before UTF-8: it is no part of the first name.
func (in *input) withoutMark() io.Reader {
	start := int64(len(in.head) - len(bytes.TrimPrefix(in.head, []byte("\xef\xbb\xbf"))))
	return io.NewSectionReader(in.File, start, in.size-start)
}

// table reads the first row. The table closes the file.
func (in *input) table(kinds string) (*table, error) {
	t := &table{path: in.path, unit: "line", file: in.File}
	if in.isParquet() {
		var err error
		if t.pages, err = parquetfile.OpenColumns(in.path, in.File, in.size); err != nil {
			return nil, err
		}
		t.first, t.unit, t.named = t.pages.Names(), "row", true
		return t, nil
	}
	usual, known := textExtensions[in.extension]
	if !known {
		return nil, fmt.Errorf("%s is in no known format, by its extension; expected %s", in.path, kinds)
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(string(in.head), "\xef\xbb\xbf"), "\n")
	between := separator(usual, first)
	t.double, t.text = between == "::", splitRows(in.path, between, in.withoutMark(), usual == ",")
	row, line, err := t.text.next(in.path)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	t.at = line
	for _, field := range row {
		t.first = append(t.first, strings.TrimSpace(utf8Text(field)))
	}
	return t, nil
}

func (t *table) close() { t.file.Close() }

// separator is what stands between columns: the usual one of the extension or, if the first line lacks that, the most
// frequent other one.
func separator(usual, line string) string {
	best := usual
	for _, other := range []string{"\t", "|", ";", ","} {
		if strings.Count(line, usual) == 0 && strings.Count(line, other) > strings.Count(line, best) {
			best = other
		}
	}
	return best
}

// rowReader gives one row of a table after the other, then io.EOF. The row is
// valid until the next call.
type rowReader func() (fields []string, line int, err error)

// next turns a failed read into one sentence, and leaves io.EOF alone.
func (r rowReader) next(path string) ([]string, int, error) {
	fields, line, err := r()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, line, fmt.Errorf("reading %s: %w", path, err)
	}
	return fields, line, err
}

// splitRows splits a text into rows. In strict tables a quote is no part of a field.
func splitRows(path, separator string, in io.Reader, strict bool) rowReader {
	if len(separator) > 1 {
		return doubleColonRows(path, in)
	}
	rows := csv.NewReader(in)
	rows.ReuseRecord, rows.Comma, rows.LazyQuotes = true, rune(separator[0]), !strict
	return func() ([]string, int, error) {
		fields, err := rows.Read()
		if err != nil {
			return nil, 0, err
		}
		line, _ := rows.FieldPos(0)
		return fields, line, nil
	}
}

// doubleColonRows splits lines of bytes as MovieLens writes them.
func doubleColonRows(path string, in io.Reader) rowReader {
	lines, line, width := rowfile.NewLines(in), 0, 0
	return func() ([]string, int, error) {
		for lines.Scan() {
			line++
			text := strings.TrimRight(lines.Text(), "\r")
			if text == "" {
				continue
			}
			fields := strings.Split(text, "::")
			if width == 0 {
				width = len(fields)
			}
			if len(fields) != width {
				return nil, line, fmt.Errorf("line %d has %d columns, the lines before it %d", line, len(fields), width)
			}
			return fields, line, nil
		}
		if err := rowfile.LinesError(path, lines); err != nil {
			return nil, line, err
		}
		return nil, line, io.EOF
	}
}

// utf8Text decodes text as Latin-1 if it is not UTF-8.
func utf8Text(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	runes := make([]rune, len(text))
	for i := range len(text) {
		runes[i] = rune(text[i])
	}
	return string(runes)
}
