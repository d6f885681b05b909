package interactions

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxLine bounds a line of text: a user of a million items.
const maxLine = 16 << 20

// readSequences reads a line a user: the user, then the items.
func readSequences(ctx context.Context, path string, in io.Reader) (*recorder, error) {
	r := &recorder{}
	lines := newLines(in)
	for line := 1; lines.Scan(); line++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 {
			continue
		}
		if len(fields) == 1 {
			return nil, fmt.Errorf("line %d of %s names user %q without items; a line is a user and then the items, separated by blanks",
				line, path, fields[0])
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
	return r, scanError(path, lines)
}

// withoutMark skips the byte order mark that some programs put before UTF-8: it is
// no part of the first name.
func withoutMark(in io.Reader) io.Reader {
	buffered := bufio.NewReaderSize(in, 1<<16)
	if mark, _ := buffered.Peek(3); string(mark) == "\xef\xbb\xbf" {
		_, _ = buffered.Discard(3)
	}
	return buffered
}

// newLines splits text into lines of at most maxLine bytes.
func newLines(in io.Reader) *bufio.Scanner {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	return lines
}

// scanError explains why there are no more lines.
func scanError(path string, lines *bufio.Scanner) error {
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("%s has a line of more than %d bytes; it is not the text it should be", path, maxLine)
	case err != nil:
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}
