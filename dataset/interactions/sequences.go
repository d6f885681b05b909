package interactions

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/gritvq/gritvq/internal/rowfile"
)

// readSequences reads a line a user: the user, then the items.
func readSequences(ctx context.Context, path string, in io.Reader) (*recorder, error) {
	r := &recorder{}
	lines := rowfile.NewLines(in)
	for line := 1; lines.Scan(); line++ {
		fields := strings.Fields(utf8Text(lines.Text()))
		if len(fields) == 0 {
			continue
		}
		if len(fields) == 1 {
			err := fmt.Errorf("line %d of %s names user %q without items; a line is a user and then the items, separated by blanks",
				line, path, fields[0])
			if strings.ContainsAny(fields[0], "|,;") {
				err = fmt.Errorf("%w; if it is a table, name it .csv, .tsv or .psv", err)
			}
			return nil, err
		}
		if _, twice := r.users.index[fields[0]]; twice {
			return nil, fmt.Errorf("line %d of %s repeats user %q; all items of a user belong on one line", line, path, fields[0])
		}
		for _, item := range fields[1:] {
			if err := r.proceed(ctx, path); err != nil {
				return nil, err
			}
			r.add(fields[0], item)
		}
	}
	return r, rowfile.LinesError(path, lines)
}
