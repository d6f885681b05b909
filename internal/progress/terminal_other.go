//go:build !(aix || darwin || dragonfly || freebsd || linux || netbsd || openbsd || solaris)

package progress

import "os"

// IsTerminal tells whether f is a terminal: a character device other than the null device.
func IsTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

func terminalColumns(*os.File) int { return 0 }
