package progress

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPseudoTerminalIsATerminal(t *testing.T) {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	defer f.Close()
	if !IsTerminal(f) {
		t.Error("a pseudo-terminal is not taken for a terminal")
	}
	if err := unix.IoctlSetWinsize(int(f.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 123}); err != nil {
		t.Fatal(err)
	}
	if n := columnsOf(f); n != 123 {
		t.Errorf("%d columns, want 123", n)
	}
}
