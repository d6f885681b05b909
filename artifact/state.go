package artifact

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// State says how far the artifact in a directory is.
type State int

// The states of a directory.
const (
	Absent     State = iota // no directory, or no file of the kind in it
	Unfinished              // begun
	Finished                // a manifest, of whatever kind
)

// State looks at dir without reading files. A path that is there but no
// directory is an error.
func (k *Kind) State(dir string) (State, error) {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Absent, nil
	}
	if err != nil {
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err
		}
		return Absent, fmt.Errorf("cannot use %s: %w; choose another directory", dir, err)
	}
	if !info.IsDir() {
		return Absent, fmt.Errorf("%s is a file; a %s is a directory", dir, k.Title)
	}
	exists := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	if exists(ManifestFile) {
		return Finished, nil
	}
	for _, name := range k.Begun {
		if exists(name) {
			return Unfinished, nil
		}
	}
	return Absent, nil
}
