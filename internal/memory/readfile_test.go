package memory_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/internal/memory"
)

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if _, err := memory.ReadFile(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file gave %v", err)
	}
	if _, err := memory.ReadFile(filepath.Dir(path)); err == nil {
		t.Error("a directory was read")
	}
	if err := os.WriteFile(path, []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	if content, err := memory.ReadFile(path); string(content) != "content" || err != nil {
		t.Errorf("%q, %v", content, err)
	}
}

func TestReadFileEnds(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no /dev/zero")
	}
	path := filepath.Join(t.TempDir(), "manifest.json")
	if err := os.Symlink("/dev/zero", path); err != nil {
		t.Fatal(err)
	}
	if _, err := memory.ReadFile(path); err == nil || !strings.Contains(err.Error(), "no regular file and goes on after 64.0 MiB") {
		t.Errorf("got %v", err)
	}
	// A file larger than memory need not have its size on disk.
	large := filepath.Join(filepath.Dir(path), "large")
	if err := os.WriteFile(large, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 1<<43); err != nil {
		t.Skip("the file system has no files of 8 TiB")
	}
	if _, err := memory.ReadFile(large); err == nil || !strings.Contains(err.Error(), "would take 8.0 TiB of memory") {
		t.Errorf("got %v", err)
	}
}
