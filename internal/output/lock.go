package output

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gritvq/gritvq/internal/filelock"
)

// LockFile is in a directory while a command writes there, and after a kill until the next one does.
const LockFile = ".gritvq.lock"

// Claim is the right to write into a directory, which one process has at a time.
type Claim struct {
	file *os.File
	made []string // directories, the outermost first
}

// Lock makes a directory and its parents and takes the right to write there. Release gives it back. The lock of a
// process that has died is taken over.
func Lock(dir string) (*Claim, error) {
	c := &Claim{made: missing(dir)}
	path := filepath.Join(dir, LockFile)
	for range 100 { // others may remove the directory or the file between two steps
		if err := MakeDir(dir); err != nil {
			return nil, err
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			c.removeMade()
			return nil, fmt.Errorf("cannot write in %s: %w", dir, errors.Unwrap(err))
		}
		switch err := filelock.TryNamed(f); {
		case err == nil:
			c.file = f
			return c, c.sign()
		case !errors.Is(err, filelock.ErrHeld):
			f.Close()
			return nil, fmt.Errorf("cannot lock %s: %w", dir, err)
		}
		f.Close()
		if holder, err := os.ReadFile(path); err == nil && len(holder) > 0 {
			return nil, fmt.Errorf("%s is in use: %s writes there; wait until it ends, or choose another directory",
				dir, strings.TrimSpace(string(holder)))
		}
		time.Sleep(time.Millisecond) // it is being signed or removed
	}
	return nil, fmt.Errorf("%s is in use by another process; wait until it ends, or choose another directory", dir)
}

// sign tells others who holds the lock.
func (c *Claim) sign() error {
	host, _ := os.Hostname()
	text := fmt.Sprintf("process %d on %s, started %s,\n", os.Getpid(), host, time.Now().UTC().Format("2006-01-02 15:04:05 UTC"))
	err := c.file.Truncate(0)
	if err == nil {
		_, err = c.file.WriteAt([]byte(text), 0)
	}
	if err != nil {
		err = fmt.Errorf("cannot lock %s: %w", filepath.Dir(c.file.Name()), err)
		c.Release()
	}
	return err
}

// Release gives the right back. Directories that Lock made and that are still empty go too.
func (c *Claim) Release() {
	if os.Remove(c.file.Name()) != nil { // some systems do not remove open files
		defer os.Remove(c.file.Name())
	}
	c.removeMade()
	c.file.Close()
}

func (c *Claim) removeMade() {
	for i := range c.made {
		os.Remove(c.made[len(c.made)-1-i]) // only if empty
	}
}

// missing lists dir and those of its parents that are not there, the outermost first.
func missing(dir string) (list []string) {
	for dir = filepath.Clean(dir); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil {
			break
		}
		list = append([]string{dir}, list...)
	}
	return list
}
