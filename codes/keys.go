package codes

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/memory"
)

// KeysPath is codes.keys beside codes.npy: the names of the rows, a line each. Names with control characters or a double
// quote at the start are quoted as in Go.
func KeysPath(codes string) string { return strings.TrimSuffix(codes, filepath.Ext(codes)) + ".keys" }

// WriteKeys writes the names of the rows of a file of codes.
func WriteKeys(codes string, keys []string) error {
	return atomicfile.Write(KeysPath(codes), func(w io.Writer) error {
		for _, key := range keys {
			if strings.HasPrefix(key, `"`) || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				key = strconv.Quote(key)
			}
			if _, err := io.WriteString(w, key+"\n"); err != nil {
				return err
			}
		}
		return nil
	})
}

// ReadKeys returns the names of the n rows of a file of codes; nil if there are none beside it.
func ReadKeys(codes string, n int) ([]string, error) {
	path := KeysPath(codes)
	content, err := memory.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the names of the rows: %w", err)
	}
	keys, err := parseKeys(string(content))
	if err == nil && len(keys) != n {
		err = fmt.Errorf("it names %d rows, %s holds %d", len(keys), codes, n)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; correct it, or remove it to number the rows", path, err)
	}
	return keys, nil
}

func parseKeys(content string) ([]string, error) {
	var keys []string
	for line := range strings.Lines(content) {
		key := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if strings.HasPrefix(key, `"`) {
			plain, err := strconv.Unquote(key)
			if err != nil {
				return nil, fmt.Errorf("line %d is quoted wrongly", len(keys)+1)
			}
			key = plain
		}
		keys = append(keys, key)
	}
	return keys, nil
}
