// Package filelock takes advisory locks on open files. The system drops a lock when its process ends, however that
// happens, so the lock of a dead process is never in the way.
package filelock

import (
	"errors"
	"os"
)

// ErrHeld says that another open file, of this process or of another one, holds the lock.
var ErrHeld = errors.New("locked by another process")

// Try locks a file without waiting, until it is closed. File systems that know no locks are not an error: there is then
// no protection.
func Try(f *os.File) error { return try(f) }

// TryNamed locks a file that has a name others may remove. It returns ErrHeld too if the name has gone to another file
// meanwhile.
func TryNamed(f *os.File) error {
	if err := try(f); err != nil {
		return err
	}
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	named, err := os.Stat(f.Name())
	if err != nil || !os.SameFile(mine, named) {
		return ErrHeld
	}
	return nil
}
