package rowfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds a line of text: a user of a million items.
const maxLine = 16 << 20

// NewLines splits text into lines of at most maxLine bytes.
func NewLines(in io.Reader) *bufio.Scanner {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	return lines
}

// LinesError explains why there are no more lines; nil at the end of the text.
func LinesError(path string, lines *bufio.Scanner) error {
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("%s has a line of more than %d bytes; it is not the text it should be", path, maxLine)
	case err != nil:
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}
