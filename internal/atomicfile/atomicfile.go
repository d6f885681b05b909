// Package atomicfile writes files that are either whole or absent.
//
// Data goes to a temporary file in the target's own directory, is flushed to
// disk, and only then takes the target's name. A crash, a full disk or a
// cancelled run leaves the previous file (or none), never half of a new one.
// The temporary file of a killed process goes when the next one writes in the
// same directory.
package atomicfile

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/gritvq/gritvq/internal/filelock"
)

// File is an output under construction. Write to it, then call Commit;
// Abort (safe to defer, does nothing after Commit) removes it.
type File struct {
	path    string
	file    *os.File
	buffer  *bufio.Writer
	flushed bool
	settled bool
}

// Create starts a file that will replace path on Commit.
func Create(path string) (*File, error) {
	sweep(filepath.Dir(path))
	for {
		f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*"+suffix)
		if err != nil {
			return nil, fmt.Errorf("cannot write %s: %w", path, err)
		}
		if filelock.TryNamed(f) == filelock.ErrHeld { // swept before it was locked
			f.Close()
			os.Remove(f.Name())
			continue
		}
		return &File{path: path, file: f, buffer: bufio.NewWriterSize(f, 1<<20)}, nil
	}
}

// suffix ends the names of temporary files. Each is locked as long as its process writes it.
const suffix = ".gritvq.tmp"

var swept sync.Map // directories that this process has swept

// sweep removes the temporary files of killed processes, once a directory. What cannot be removed stays.
func sweep(dir string) {
	if absolute, err := filepath.Abs(dir); err == nil {
		dir = absolute
	}
	if _, known := swept.LoadOrStore(dir, true); !known {
		Sweep(dir)
	}
}

// Temporary says whether a name is that of a temporary file.
func Temporary(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, suffix)
}

// Sweep removes the temporary files that killed processes left in a directory.
func Sweep(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !Temporary(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		if filelock.TryNamed(f) == nil && os.Remove(f.Name()) != nil { // some systems do not remove open files
			defer os.Remove(f.Name())
		}
		f.Close()
	}
}

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) {
	f.flushed = false
	n, err := f.buffer.Write(p)
	if err != nil {
		return n, fmt.Errorf("writing %s: %w", f.path, err)
	}
	return n, nil
}

// Flush puts the whole content on the disk; only the name is missing then. After an error the file is gone.
func (f *File) Flush() (err error) {
	if f.flushed {
		return nil
	}
	defer func() {
		if err != nil {
			f.Abort()
			err = fmt.Errorf("writing %s: %w", f.path, err)
		}
	}()
	chmod := func() error { return f.file.Chmod(0o644) }
	for _, step := range []func() error{f.buffer.Flush, chmod, f.file.Sync} {
		if err = step(); err != nil {
			return err
		}
	}
	f.flushed = true
	return nil
}

// Commit flushes and renames. After an error the target is untouched and the temporary file is gone.
func (f *File) Commit() (err error) {
	if f.settled {
		return fmt.Errorf("writing %s: committed twice", f.path)
	}
	if err := f.Flush(); err != nil {
		return err
	}
	if err = f.file.Close(); err == nil {
		err = os.Rename(f.file.Name(), f.path)
	}
	if err != nil {
		f.Abort()
		return fmt.Errorf("writing %s: %w", f.path, err)
	}
	f.settled = true
	return SyncDir(filepath.Dir(f.path))
}

// Abort discards the file unless it was committed.
func (f *File) Abort() {
	if f.settled {
		return
	}
	f.settled = true
	f.file.Close()
	os.Remove(f.file.Name())
}

// Write creates path through fill, atomically.
func Write(path string, fill func(w io.Writer) error) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := fill(f); err != nil {
		return err
	}
	return f.Commit()
}

// WriteJSON creates path with values in JSON, one after the other: a line each if indent is empty.
func WriteJSON[T any](path, indent string, values ...T) error {
	return Write(path, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", indent)
		encoder.SetEscapeHTML(false)
		for _, v := range values {
			if err := encoder.Encode(v); err != nil {
				return err
			}
		}
		return nil
	})
}

// SyncDir makes renames inside dir durable. File systems that cannot sync a
// directory (some network mounts) are not an error: the rename itself held.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	_ = d.Sync()
	return nil
}
