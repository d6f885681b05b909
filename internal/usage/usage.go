// Package usage marks errors that the caller caused: a command line, option or
// configuration that cannot work. Commands exit with 2 for them, not 1.
package usage

import "fmt"

// Error is a mistake in how something was called.
type Error struct{ Err error }

func (e Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e Error) Unwrap() error { return e.Err }

// Errorf formats an [Error]; %w wraps as in fmt.Errorf.
func Errorf(format string, args ...any) error { return Error{fmt.Errorf(format, args...)} }
