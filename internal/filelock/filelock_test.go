package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestOneHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, second := open(t, path), open(t, path)
	if err := Try(first); err != nil {
		t.Fatal(err)
	}
	if err := Try(second); !errors.Is(err, ErrHeld) {
		t.Fatalf("a held lock gave %v", err)
	}
	first.Close()
	if err := Try(second); err != nil {
		t.Fatalf("a closed file still holds the lock: %v", err)
	}
}

func TestReplacedFilesAreNotLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	old := open(t, path)
	if err := os.Remove(path); err != nil {
		t.Skip("an open file cannot be removed on this system")
	}
	if err := TryNamed(old); !errors.Is(err, ErrHeld) {
		t.Errorf("a removed file gave %v", err)
	}
	if err := TryNamed(open(t, path)); err != nil {
		t.Errorf("the new file gave %v", err)
	}
}
