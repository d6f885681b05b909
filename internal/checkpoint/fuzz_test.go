package checkpoint

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gritvq/gritvq/safetensors"
)

// FuzzLoad reads checkpoints whose checksum is right, or was made right, and whose content is anything.
func FuzzLoad(f *testing.F) {
	dir := f.TempDir()
	if err := Save(dir, 1, content(3)); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, Newest))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	dir = f.TempDir() // of this worker
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(filepath.Join(dir, Newest), content, 0o644); err != nil {
			t.Fatal(err)
		}
		var p progress
		if c, _, damaged, err := Load(dir, 1, &p); err == nil && damaged == nil && c == nil {
			t.Error("neither a checkpoint nor what is wrong with it")
		}
		if file, err := safetensors.Decode(content); err == nil {
			_, _ = open(file, &p)
		}
	})
}
