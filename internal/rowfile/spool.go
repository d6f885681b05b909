package rowfile

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/gritvq/gritvq/internal/memory"
)

// Spool is a temporary, converted copy of a file that cannot be read in place.
// Its name is removed at once where the system allows that for an open file, so
// that even a killed process leaves nothing behind; otherwise Close removes it.
type Spool struct {
	file     *os.File
	buffer   *bufio.Writer
	unlinked bool
	source   string // the file being converted, for errors
	dir      string
}

// NewSpool creates a spool for source in dir, or in the system's temporary
// directory when dir is empty.
func NewSpool(dir, source string) (*Spool, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	file, err := os.CreateTemp(dir, "gritvq-spool-*")
	if err != nil {
		return nil, fmt.Errorf("cannot make a temporary file to convert %s: %w; name a writable spool directory", source, err)
	}
	s := &Spool{file: file, buffer: bufio.NewWriterSize(file, 1<<20), source: source, dir: dir}
	s.unlinked = os.Remove(file.Name()) == nil
	return s, nil
}

// Reserve fails if the spool's file system has no room for a copy of so many bytes.
func (s *Spool) Reserve(bytes uint64) error {
	if free := freeSpace(s.dir); bytes > free {
		return fmt.Errorf("%s takes %s in %s while it is converted, and %s are free; free space or name another spool directory",
			s.source, memory.Text(float64(bytes)), s.dir, memory.Text(float64(free)))
	}
	return nil
}

// Write appends p.
func (s *Spool) Write(p []byte) (int, error) {
	n, err := s.buffer.Write(p)
	return n, s.explain(err)
}

// Finish makes everything written readable through ReadAt.
func (s *Spool) Finish() error {
	err := s.explain(s.buffer.Flush())
	s.buffer = nil
	return err
}

func (s *Spool) explain(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("the disk is full: no room in %s to convert %s; free space or name another spool directory: %w", s.dir, s.source, err)
	}
	if err != nil {
		return fmt.Errorf("converting %s into %s: %w", s.source, s.dir, err)
	}
	return nil
}

// ReadAt implements io.ReaderAt; call Finish first.
func (s *Spool) ReadAt(p []byte, at int64) (int, error) { return s.file.ReadAt(p, at) }

// Close releases the space.
func (s *Spool) Close() error {
	err := s.file.Close()
	if !s.unlinked {
		err = errors.Join(err, os.Remove(s.file.Name()))
	}
	return err
}
