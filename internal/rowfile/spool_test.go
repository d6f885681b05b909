package rowfile

import (
	"bufio"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestFullDiskIsExplained(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no /dev/full on this system")
	}
	s := &Spool{file: full, buffer: bufio.NewWriter(full), unlinked: true, source: "x.parquet", dir: "spools"}
	defer s.Close()
	_, err = s.Write(make([]byte, 1<<20))
	wantError(t, err, "disk is full", "spools", "x.parquet", "another spool directory")
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v is not ENOSPC", err)
	}
}

func TestSpoolWithoutUnlinkIsRemovedOnClose(t *testing.T) {
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "kept"))
	if err != nil {
		t.Fatal(err)
	}
	s := &Spool{file: file, buffer: bufio.NewWriter(file)}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantEmptyDir(t, dir)
}

func TestMissingSpoolDirIsExplained(t *testing.T) {
	_, err := NewSpool(filepath.Join(t.TempDir(), "no"), "x.parquet")
	wantError(t, err, "x.parquet", "spool directory")
}

func TestSpoolReserve(t *testing.T) {
	dir := t.TempDir()
	s, err := NewSpool(dir, "x.npz")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Reserve(1 << 10); err != nil {
		t.Error(err)
	}
	if freeSpace(dir) == math.MaxUint64 {
		t.Skip("free space is not known on this system")
	}
	wantError(t, s.Reserve(1<<62), "x.npz takes 4.0 EiB in "+dir, "free space or name another spool directory")
}

// wantError checks that err is one sentence with every part in it.
func wantError(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q has several lines", err)
	}
}

// wantEmptyDir checks that nothing was left in dir.
func wantEmptyDir(t testing.TB, dir string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range list {
		t.Errorf("left behind: %s", entry.Name())
	}
}
