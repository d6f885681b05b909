package interactions

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/internal/rowfile"
)

// Names that columns go by, in lower case.
var (
	userNames = []string{"user", "user_id", "userid", "uid", "reviewerid", "customer_id", "session", "session_id"}
	itemNames = []string{"item", "item_id", "itemid", "iid", "movieid", "movie_id", "product", "product_id", "productid", "asin",
		"parent_asin"}
	timeNames = []string{"time", "timestamp", "unixreviewtime", "date", "datetime", "ts"}
)

// noTime is the Options.Time of tables whose order is that of time.
const noTime = "-"

// ErrColumns marks errors that another choice of columns may fix, so that a
// program can explain to its users how to choose them.
var ErrColumns = errors.New("choose the columns")

// columns are the places of user, item and time in a row; time is -1 if the
// order of rows is that of time.
type columns struct{ user, item, time int }

// tableRows chooses how to split a text into rows, by its extension.
func tableRows(path, extension string, in io.Reader) (rowReader, error) {
	switch extension {
	case ".csv", ".tsv", ".tab", ".data":
		table := csv.NewReader(in)
		table.ReuseRecord = true
		if extension != ".csv" {
			table.Comma, table.LazyQuotes = '\t', true
		}
		return func() ([]string, int, error) {
			fields, err := table.Read()
			if err != nil {
				return nil, 0, err
			}
			line, _ := table.FieldPos(0)
			return fields, line, nil
		}, nil
	case ".dat":
		return doubleColonRows(path, in), nil
	}
	return nil, fmt.Errorf("%s is in no known format, by its extension; expected %s", path, logFormats)
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

// readTable reads an interaction a row.
func readTable(ctx context.Context, path, extension string, rows rowReader, opt Options) (*recorder, error) {
	if extension == ".dat" && opt.User+opt.Item+opt.Time == "" {
		opt.User, opt.Item, opt.Time = "1", "2", "4"
	}
	r := &recorder{}
	fields, line, err := rows.nextRow(path)
	if errors.Is(err, io.EOF) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	at, header, err := chooseColumns(path, fields, opt)
	if err != nil {
		return nil, err
	}
	r.untimed = at.time < 0
	for skip := header; ; skip = false {
		if !skip {
			if err := r.take(ctx, path, "line", line, fields, at); err != nil {
				return nil, err
			}
		}
		fields, line, err = rows.nextRow(path)
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// take records a row; unit and n, such as "line" and 3, name it in errors.
func (r *recorder) take(ctx context.Context, path, unit string, n int, fields []string, at columns) error {
	if err := r.proceed(ctx, path); err != nil {
		return err
	}
	user, item := strings.TrimSpace(fields[at.user]), strings.TrimSpace(fields[at.item])
	if user == "" || item == "" {
		return fmt.Errorf("%s %d of %s lacks its user or item; fill or drop it", unit, n, path)
	}
	if at.time >= 0 {
		when, err := parseTime(fields[at.time])
		if err != nil {
			return fmt.Errorf("%s %d of %s has %w", unit, n, path, err)
		}
		r.times = append(r.times, when)
	}
	r.add(user, item)
	return nil
}

// chooseColumns finds user, item and time from the first row of a table, and
// tells whether that row is a header: it is if it holds one of the usual names
// or a chosen one.
func chooseColumns(path string, first []string, opt Options) (at columns, header bool, err error) {
	names := make([]string, len(first))
	for i, name := range first {
		names[i] = strings.TrimSpace(name)
	}
	header = findColumn(names, "", userNames) >= 0 || findColumn(names, "", itemNames) >= 0
	for _, choice := range []string{opt.User, opt.Item, opt.Time} {
		if _, err := strconv.Atoi(choice); err != nil && choice != "" && slices.Contains(names, choice) {
			header = true
		}
	}
	if !header && opt.User+opt.Item == "" && (len(names) == 2 || len(names) == 3) {
		at = columns{0, 1, len(names) - 1}
		if opt.Time == noTime || len(names) == 2 {
			at.time = -1
		}
		return at, false, nil
	}
	at, err = namedColumns(path, names, opt)
	return at, header, err
}

// namedColumns finds the columns by choice or by their usual names.
func namedColumns(path string, names []string, opt Options) (columns, error) {
	at := columns{findColumn(names, opt.User, userNames), findColumn(names, opt.Item, itemNames), -1}
	timed := opt.Time != noTime
	if timed {
		at.time = findColumn(names, opt.Time, timeNames)
	}
	switch {
	case at.user < 0:
		return at, missingColumn(path, "user", opt.User, names)
	case at.item < 0:
		return at, missingColumn(path, "item", opt.Item, names)
	case timed && at.time < 0 && (opt.Time != "" || len(names) > 2):
		return at, missingColumn(path, "time", opt.Time, names)
	case at.user == at.item || at.user == at.time || at.item == at.time:
		return at, fmt.Errorf("one column of %s cannot be two of user, item and time; %w", path, ErrColumns)
	}
	return at, nil
}

// findColumn returns the place of the column chosen by name or number, or of the
// first column with a usual name; -1 if there is none.
func findColumn(names []string, choice string, usual []string) int {
	if n, err := strconv.Atoi(choice); err == nil {
		if n < 1 || n > len(names) {
			return -1
		}
		return n - 1
	}
	if choice != "" {
		return slices.Index(names, choice)
	}
	return slices.IndexFunc(names, func(name string) bool { return slices.Contains(usual, strings.ToLower(name)) })
}

// missingColumn says which column could not be found, and among which.
func missingColumn(path, what, choice string, names []string) error {
	if choice != "" {
		return fmt.Errorf("%s has no column %q for the %s, among %q; %w", path, choice, what, names, ErrColumns)
	}
	order := ""
	if what == "time" {
		order = fmt.Sprintf(", and %q for the time if rows are in chronological order", noTime)
	}
	return fmt.Errorf("no column of %s goes by a usual name for the %s, among %q; %w%s", path, what, names, ErrColumns, order)
}
