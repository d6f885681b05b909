package table

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Stale makes the page dir/name.md and its figures again in a temporary directory, and returns the files in dir
// that differ.
func Stale(dir, name string, write func(dir string) error) (files []string, err error) {
	again, err := os.MkdirTemp("", "gritvq-page-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(again)
	if err := os.CopyFS(again, os.DirFS(dir)); err != nil {
		return nil, err
	}
	if err := write(again); err != nil {
		return nil, err
	}
	made, err := filepath.Glob(filepath.Join(again, name+"*"))
	if err != nil {
		return nil, err
	}
	for _, path := range made {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		published, missing := os.ReadFile(filepath.Join(dir, filepath.Base(path)))
		if missing != nil || !bytes.Equal(content, published) {
			files = append(files, filepath.Base(path))
		}
	}
	return files, nil
}

// FindRow returns the first row of a Markdown table below the heading that begins with the given cells, by the
// names of its columns.
func FindRow(page, heading string, begins ...string) (map[string]string, error) {
	_, section, found := strings.Cut(page, heading+"\n")
	if !found {
		return nil, fmt.Errorf("the page has no heading %q", heading)
	}
	var names []string
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if names == nil {
			names = cells
		}
		if len(cells) < len(begins) || !slices.Equal(cells[:len(begins)], begins) {
			continue
		}
		if len(cells) != len(names) {
			return nil, errors.New("a row has more or fewer cells than its head: " + line)
		}
		row := map[string]string{}
		for i, name := range names {
			row[name] = cells[i]
		}
		return row, nil
	}
	return nil, fmt.Errorf("%s has no row of %q", heading, begins)
}
