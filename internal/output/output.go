// Package output checks output files and directories before any
// work is done: no input and no file of other origin is overwritten.
package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/usage"
)

// Check reports an output file that cannot be written: one that is its own
// input, a directory, or a file in a directory that does not exist.
func Check(input, path string) error {
	if Same(input, path) {
		return usage.Errorf("the output %s is the input; name another file", path)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("cannot write %s: it is a directory; name a file", path)
	}
	parent := filepath.Dir(filepath.Clean(path))
	switch info, err := os.Stat(parent); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cannot write %s: there is no directory %s; make it first", path, parent)
	case err == nil && !info.IsDir():
		return fmt.Errorf("cannot write %s: %s is not a directory; choose another place", path, parent)
	}
	return nil
}

// MakeDir creates an output directory and its parents.
func MakeDir(dir string) error {
	err := os.MkdirAll(dir, 0o755)
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("cannot create %s: %w; choose another place with -o", dir, path.Err)
	}
	return err
}

// RefuseForeign reports files in dir that a command did not create and would
// overwrite. what names the thing that the command makes there.
func RefuseForeign(dir, what string, names ...string) error {
	for _, path := range Inside(dir, names...) {
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s exists and is not part of a %s; choose another directory, or --force to replace it", path, what)
		}
	}
	return nil
}

// RefuseInput reports an input that is one of the files to be written.
func RefuseInput(targets []string, inputs ...string) error {
	for _, target := range targets {
		for _, input := range inputs {
			if Same(target, input) {
				return usage.Errorf("%s is an input and would be overwritten; choose another place for the output", input)
			}
		}
	}
	return nil
}

// Inside returns the paths of files in a directory.
func Inside(dir string, names ...string) []string {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = filepath.Join(dir, name)
	}
	return paths
}

// Same says whether two paths are one existing file or directory.
func Same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// Present says whether there is a file, or a directory with something in it but temporary files of killed processes.
func Present(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return err == nil
	}
	entries, err := os.ReadDir(path)
	return err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !atomicfile.Temporary(e.Name()) })
}
