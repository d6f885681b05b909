package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestFailedFillKeepsTheOldFileAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "codes.npy")
	if err := Write(path, func(w io.Writer) error { _, err := w.Write([]byte("old")); return err }); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	err := Write(path, func(w io.Writer) error {
		w.Write([]byte("half of the new"))
		return boom
	})
	if !errors.Is(err, boom) {
		t.Fatalf("got %v, want %v", err, boom)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Fatalf("content %q, want the old one", got)
	}
	if names := entries(t, dir); len(names) != 1 {
		t.Fatalf("left behind: %v", names)
	}
}

func TestNothingIsVisibleBeforeCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Abort()
	io.WriteString(f, "body")
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("target visible before Commit")
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "body" {
		t.Fatalf("content %q", got)
	}
}

func TestMissingDirectoryIsOneClearError(t *testing.T) {
	if _, err := Create(filepath.Join(t.TempDir(), "no", "such", "f")); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("got %v", err)
	}
}

func TestWriteJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "values")
	for indent, want := range map[string]string{"": "[1]\n[\"<\"]\n", " ": "[\n 1\n]\n[\n \"<\"\n]\n"} {
		if err := WriteJSON(path, indent, []any{1}, []any{"<"}); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v; want %q", indent, got, err, want)
		}
	}
	if err := WriteJSON(path, "", func() {}); err == nil {
		t.Error("a function was written as JSON")
	}
}

// Temporary files of dead processes go, those of live ones and other files stay.
func TestKilledWritersLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	live, err := Create(filepath.Join(dir, "live"))
	if err != nil {
		t.Fatal(err)
	}
	defer live.Abort()
	for _, name := range []string{".codes.npy.123" + suffix, ".other.123.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	Sweep(dir)
	if names := entries(t, dir); len(names) != 2 || names[1] != ".other.123.tmp" {
		t.Errorf("%q are left", names)
	}
	if err := live.Commit(); err != nil {
		t.Error(err)
	}
}
