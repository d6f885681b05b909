//go:build aix || darwin || dragonfly || freebsd || linux || netbsd || openbsd || solaris

package progress

import (
	"os"

	"golang.org/x/sys/unix"
)

// IsTerminal tells whether f is a terminal: a device that has a window size.
func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}

func terminalColumns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
