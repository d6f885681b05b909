package vectors

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/internal/rowfile"
)

// Tables of numbers as text. Their extensions belong to other kinds of data
// too, so none is registered.
var (
	csvFormat = format{Format: rowfile.Format{Extension: ".csv", Text: true}, open: openText, shared: true}
	tsvFormat = format{Format: rowfile.Format{Extension: ".tsv", Text: true}, open: openText, shared: true}
	txtFormat = format{Format: rowfile.Format{Extension: ".txt", Text: true}, open: openText, shared: true}
)

// textTable reads rows of numbers, as numpy.savetxt, DataFrame.to_csv and
// files of word vectors have them. The first row decides which columns are
// numbers; columns of text, and the index that to_csv writes, are left out.
type textTable struct {
	path      string
	separator string // "" is any blanks
	header    []string
	numbers   []bool // by column
	omitted   []string
	rows      int
	row       []float32
	fields    []string
}

// openText converts a text file into a spool.
func openText(ctx context.Context, f source, opt Options) (*Vectors, error) {
	out, err := rowfile.NewSpool(opt.SpoolDir, f.path)
	if err != nil {
		return nil, err
	}
	t := &textTable{path: f.path}
	if err = t.read(ctx, f, out, opt.Progress); err == nil {
		err = out.Finish()
	}
	if err != nil {
		out.Close()
		return nil, err
	}
	f.Close()
	table := rowfile.SpooledTable[float32](f.path, out, t.rows, len(t.row))
	v := newVectors(f.path, table.Rows, table.Cols, table, out)
	v.note = leftOut(t.omitted)
	return v, nil
}

func (t *textTable) read(ctx context.Context, f source, out *rowfile.Spool, progress func(done, total int)) error {
	lines, number, bytes := rowfile.NewLines(f), 0, int64(0)
	for ; lines.Scan(); number++ {
		bytes += int64(len(lines.Bytes())) + 1
		line := strings.TrimSuffix(lines.Text(), "\r")
		if number == 0 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		if t.numbers == nil {
			if started, err := t.begin(line, number+1); err != nil {
				return err
			} else if !started {
				continue
			}
		}
		if err := t.parse(line, number+1); err != nil {
			return err
		}
		if _, err := out.Write(rowfile.BytesOf(t.row)); err != nil {
			return err
		}
		if t.rows++; t.rows%4096 == 0 {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("reading %s was stopped: %w", t.path, err)
			}
			if progress != nil {
				progress(t.rows, max(t.rows, int(float64(t.rows)*float64(f.size)/float64(bytes))))
			}
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) && t.rows == 0 {
		return t.noTable(fmt.Sprintf("line %d is very long", number+1))
	} else if err != nil {
		return rowfile.LinesError(t.path, lines)
	}
	if t.rows == 0 {
		return fmt.Errorf("%s has no rows of numbers; check what was saved", t.path)
	}
	if progress != nil {
		progress(t.rows, t.rows)
	}
	return nil
}

// begin looks at the first line, or at the second if the first is a header, and
// reports whether it is a row.
func (t *textTable) begin(line string, number int) (bool, error) {
	if t.header == nil {
		t.separator = separatorOf(line)
	}
	fields := t.split(line)
	if t.header == nil && isHeader(fields) {
		t.header = append([]string{}, fields...)
		return false, nil
	}
	if !slices.ContainsFunc(fields, isNumber) {
		return false, t.noTable(fmt.Sprintf("line %d holds no numbers", number))
	}
	if t.header != nil && len(fields) != len(t.header) {
		return false, t.ragged(number, len(fields), len(t.header))
	}
	t.numbers = make([]bool, len(fields))
	columns := 0
	for i, field := range fields {
		name := strconv.Itoa(i + 1)
		if t.header != nil {
			name = t.header[i]
		}
		index := t.header != nil && (name == "" || name == "Unnamed: 0")
		if t.numbers[i] = !index && (isNumber(field) || field == ""); t.numbers[i] {
			columns++
		} else if index {
			t.omitted = append(t.omitted, "the index")
		} else {
			t.omitted = append(t.omitted, name)
		}
	}
	switch {
	case columns == 0:
		return false, t.noTable(fmt.Sprintf("line %d holds no numbers", number))
	case columns > maxDim:
		return false, fmt.Errorf("%s has %d columns, at most %d are supported; rows are vectors", t.path, columns, maxDim)
	}
	t.row = make([]float32, columns)
	return true, nil
}

func (t *textTable) parse(line string, number int) error {
	fields := t.split(line)
	if len(fields) != len(t.numbers) {
		return t.ragged(number, len(fields), len(t.numbers))
	}
	at := 0
	for i, field := range fields {
		if !t.numbers[i] {
			continue
		}
		x, err := strconv.ParseFloat(field, 32) // beyond float32 it is Inf, which is found later
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			what := "holds " + strconv.Quote(shortened(field)) + ", no number,"
			if field == "" {
				what = "has no number"
			}
			return fmt.Errorf("line %d of %s %s in column %d; fill it, or drop the row", number, t.path, what, i+1)
		}
		t.row[at] = float32(x)
		at++
	}
	return nil
}

// split cuts a line into fields without quotes around them.
func (t *textTable) split(line string) []string {
	if t.separator == "" {
		return strings.Fields(line)
	}
	t.fields = t.fields[:0]
	for field := range strings.SplitSeq(line, t.separator) {
		field = strings.TrimSpace(field)
		if n := len(field); n >= 2 && field[0] == '"' && field[n-1] == '"' {
			field = field[1 : n-1]
		}
		t.fields = append(t.fields, field)
	}
	return t.fields
}

func (t *textTable) ragged(line, fields, want int) error {
	return fmt.Errorf("line %d of %s has %d columns, the lines before it have %d; all must be of one length", line, t.path, fields, want)
}

func (t *textTable) noTable(why string) error {
	return fmt.Errorf("%s is %w: %s; a table of vectors has one row of numbers a line", t.path, ErrFormat, why)
}
