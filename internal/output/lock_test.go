package output

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOneWriterADirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	claim, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Lock(dir)
	if err == nil {
		t.Fatal("two writers in one directory")
	}
	if text, want := err.Error(), fmt.Sprintf("%s is in use: process %d on ", dir, os.Getpid()); !strings.HasPrefix(text, want) {
		t.Errorf("%q does not begin with %q", text, want)
	}
	claim.Release()
	if Present(filepath.Dir(dir)) {
		t.Error("empty directories that were made for the output are left")
	}
	// A killed process leaves its file, which is not locked.
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, LockFile)
	if err := os.WriteFile(path, []byte("process 1 on host\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if claim, err = Lock(dir); err != nil {
		t.Fatalf("the lock of a dead process is not taken over: %v", err)
	}
	claim.Release()
	if _, err := os.Stat(dir); Present(path) || err != nil {
		t.Error("the file is left, or a directory that was there is gone")
	}
}

// A directory that a failed command left empty is no obstacle, nor are temporary files of killed ones.
func TestAnEmptyDirectoryIsNotPresent(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".manifest.json.1.gritvq.tmp"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if Present(dir) {
		t.Error("an empty directory is present")
	}
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if !Present(dir) || !Present(filepath.Join(dir, "x")) || Present(filepath.Join(dir, "y")) {
		t.Error("a file, its directory or a missing file is told wrongly")
	}
}
