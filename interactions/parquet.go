package interactions

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// readParquetLog reads an interaction a row.
func readParquetLog(ctx context.Context, path string, file io.ReaderAt, size int64, opt Options) (log *Log, err error) {
	defer recoverDamage(path, &err)
	archive, names, err := openParquet(path, file, size)
	if err != nil {
		return nil, err
	}
	at, err := namedColumns(path, names, opt)
	if err != nil {
		return nil, err
	}
	chosen := []string{names[at.user], names[at.item]}
	if at.time >= 0 {
		chosen = append(chosen, names[at.time])
	}
	r, row := &recorder{}, 0
	err = forEachRow(ctx, path, archive, chosen, func(values []parquet.Value) error {
		if err := r.proceed(ctx, path); err != nil {
			return err
		}
		user, item := valueText(values[0]), valueText(values[1])
		if user == "" || item == "" {
			return fmt.Errorf("row %d of %s lacks its user or item; fill or drop it", row, path)
		}
		if at.time >= 0 {
			when, err := valueTime(values[2])
			if err != nil {
				return fmt.Errorf("row %d of %s has %w", row, path, err)
			}
			r.times = append(r.times, when)
		}
		r.add(user, item)
		row++
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r.log(path), nil
}

// recoverDamage turns a panic of the decoder, which some damaged pages cause,
// into an error.
func recoverDamage(path string, err *error) {
	if problem := recover(); problem != nil {
		*err = fmt.Errorf("%s is a damaged parquet file (%v); copy or write it again", path, problem)
	}
}

// openParquet returns a file and the names of its flat columns.
func openParquet(path string, file io.ReaderAt, size int64) (*parquet.File, []string, error) {
	// The end of the file is looked at before the decoder allocates what the
	// footer claims.
	var tail [8]byte
	if _, err := file.ReadAt(tail[:], max(0, size-8)); size < 12 || err != nil || string(tail[4:]) != "PAR1" || int64(binary.LittleEndian.Uint32(tail[:])) > size-12 {
		return nil, nil, fmt.Errorf("%s is a truncated or damaged parquet file: no footer at the end of its %d bytes; copy or write it again", path, size)
	}
	archive, err := parquet.OpenFile(file, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, nil, fmt.Errorf("%s is a truncated or damaged parquet file (%w); copy or write it again", path, err)
	}
	var names []string
	for _, column := range archive.Root().Columns() {
		if column.Leaf() && column.MaxRepetitionLevel() == 0 {
			names = append(names, column.Name())
		}
	}
	return archive, names, nil
}

// forEachRow calls visit with the values of the named columns, row by row. The
// values are valid until visit returns.
func forEachRow(ctx context.Context, path string, archive *parquet.File, names []string, visit func([]parquet.Value) error) error {
	values := make([]parquet.Value, len(names))
	row := int64(0)
	for _, group := range archive.RowGroups() {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("reading %s was stopped: %w", path, err)
		}
		cursors := make([]*cursor, len(names))
		for i, name := range names {
			leaf := archive.Root().Column(name)
			cursors[i] = &cursor{pages: group.ColumnChunks()[leaf.Index()].Pages()}
		}
		err := func() error {
			defer func() {
				for _, c := range cursors {
					c.close()
				}
			}()
			for range group.NumRows() {
				for i, c := range cursors {
					var err error
					if values[i], err = c.next(); err != nil {
						return fmt.Errorf("%s is a damaged parquet file (row %d, column %s: %w); copy or write it again", path, row, names[i], err)
					}
				}
				if err := visit(values); err != nil {
					return err
				}
				row++
			}
			return nil
		}()
		if err != nil {
			return err
		}
	}
	return nil
}

// cursor walks through one column of a row group, holding one page at a time.
type cursor struct {
	pages  parquet.Pages
	page   parquet.Page
	values parquet.ValueReader
	buffer []parquet.Value
	at, n  int
}

func (c *cursor) next() (parquet.Value, error) {
	for c.at == c.n {
		if c.page == nil {
			page, err := c.pages.ReadPage()
			if errors.Is(err, io.EOF) {
				return parquet.Value{}, io.ErrUnexpectedEOF
			}
			if err != nil {
				return parquet.Value{}, err
			}
			c.page, c.values = page, page.Values()
		}
		if c.buffer == nil {
			c.buffer = make([]parquet.Value, 1024)
		}
		n, err := c.values.ReadValues(c.buffer)
		c.at, c.n = 0, n
		if n == 0 {
			parquet.Release(c.page)
			c.page = nil
			if err != nil && !errors.Is(err, io.EOF) {
				return parquet.Value{}, err
			}
		}
	}
	c.at++
	return c.buffer[c.at-1], nil
}

func (c *cursor) close() {
	if c.page != nil {
		parquet.Release(c.page)
		c.page = nil
	}
	c.pages.Close()
}

// valueText returns a name: text as it is, numbers in decimal, nothing for a
// null. Whole floats lose their point, which dataframes add to integer columns
// with gaps.
func valueText(v parquet.Value) string {
	if v.IsNull() {
		return ""
	}
	switch v.Kind() {
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return strings.TrimSpace(string(v.ByteArray()))
	case parquet.Int32:
		return strconv.FormatInt(int64(v.Int32()), 10)
	case parquet.Int64:
		return strconv.FormatInt(v.Int64(), 10)
	case parquet.Float, parquet.Double:
		x := valueNumber(v)
		if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			return strconv.FormatInt(int64(x), 10)
		}
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return v.String()
}

// valueNumber returns a number of any width, NaN for anything else.
func valueNumber(v parquet.Value) float64 {
	if v.IsNull() {
		return math.NaN()
	}
	switch v.Kind() {
	case parquet.Boolean:
		if v.Boolean() {
			return 1
		}
		return 0
	case parquet.Int32:
		return float64(v.Int32())
	case parquet.Int64:
		return float64(v.Int64())
	case parquet.Float:
		return float64(v.Float())
	case parquet.Double:
		return v.Double()
	case parquet.Int96: // the Julian day, and nanoseconds of it
		const julian1970 = 2_440_588
		parts := v.Int96()
		return (float64(parts[2])-julian1970)*86400 + float64(uint64(parts[1])<<32|uint64(parts[0]))*1e-9
	}
	return math.NaN()
}

// valueTime returns what parseTime would; only the order of times counts, so
// their unit does not matter.
func valueTime(v parquet.Value) (float64, error) {
	if kind := v.Kind(); !v.IsNull() && slices.Contains([]parquet.Kind{parquet.ByteArray, parquet.FixedLenByteArray}, kind) {
		return parseTime(string(v.ByteArray()))
	}
	when := valueNumber(v)
	if math.IsNaN(when) || math.IsInf(when, 0) {
		return 0, fmt.Errorf("the time %v, which is no number; fill or drop it", v)
	}
	return when, nil
}
