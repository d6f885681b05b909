package vectors

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestFullDiskIsExplained(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no /dev/full on this system")
	}
	s := &spool{file: full, buffer: bufio.NewWriter(full), unlinked: true, source: "x.parquet", dir: "spools"}
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
	s := &spool{file: file, buffer: bufio.NewWriter(file)}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantEmptyDir(t, dir)
}

func TestMissingSpoolDirIsExplained(t *testing.T) {
	_, err := newSpool(filepath.Join(t.TempDir(), "no"), "x.parquet")
	wantError(t, err, "x.parquet", "spool directory")
}
