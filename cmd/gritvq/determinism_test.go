package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/artifact/bundle"
)

// The files that docs/determinism.md names are the same bytes in another directory, at another time and on another
// number of cores; manifests differ in times alone.
func TestSameBytes(t *testing.T) {
	const pictures, shop = "synthetic:scenes?images=40&size=16", "synthetic:shop?users=40&items=30"
	commands := [][]string{
		{"train", "synthetic:manifold?rows=2000", "-o", "tok", "--codes", "16", "--levels", "2", "--batch", "64", "--steps", "20",
			"--set", "quantizer.search=beam"}, // ONNX knows no local search
		{"train", pictures, "-o", "pics", "--size", "16", "--width", "8,16", "--dim", "4", "--codes", "16", "--steps", "10", "--batch", "8"},
		{"encode", "tok", "synthetic:manifold?rows=500", "-o", "codes.npy"}, {"decode", "tok", "codes.npy", "-o", "back.npy"},
		{"encode", "pics", pictures, "-o", "codes.parquet"}, {"encode", "pics", pictures, "-o", "codes.gvq"},
		{"decode", "pics", "codes.gvq", "-o", "drawn.tar"}, {"export", "tok", "--to", "onnx", "-o", "onnx"},
		{"ids", shop, "-o", "ids", "--codes", "8", "--levels", "2", "--steps", "5", "--hidden", "none"},
		{"recommend", "train", "ids", shop, "-o", "model", "--model", "transitions"},
		{"prior", "train", "pics", pictures, "-o", "prior", "--layers", "1", "--width", "16", "--heads", "2", "--steps", "5", "--batch", "4"},
		{"sample", "prior", "-n", "3", "-o", "drawn"},
	}
	base := t.TempDir()
	dirs := []string{filepath.Join(base, "one"), filepath.Join(base, "two")}
	for i, dir := range dirs {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, args := range commands {
			cmd := exec.Command("gritvq", args...)
			if cmd.Dir = dir; i > 0 {
				cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
			}
			if output, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("gritvq %s: %v\n%s", strings.Join(args, " "), err, output)
			}
		}
	}
	files := 0
	err := filepath.WalkDir(dirs[0], func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == bundle.ReportFile {
			return err
		}
		files++
		one, _ := os.ReadFile(path)
		relative, _ := filepath.Rel(dirs[0], path)
		two, err := os.ReadFile(filepath.Join(dirs[1], relative))
		if e.Name() == artifact.ManifestFile {
			one, two = timeless(t, one), timeless(t, two)
		}
		if err != nil || !bytes.Equal(one, two) {
			t.Errorf("%s differs, %v", relative, err)
		}
		return nil
	})
	if err != nil || files < 40 {
		t.Errorf("compared %d files, %v", files, err)
	}
}

// timeless returns a manifest without its times and the checksum that covers them.
func timeless(t *testing.T, content []byte) []byte {
	t.Helper()
	var value any
	if err := json.Unmarshal(content, &value); err != nil {
		t.Fatal(err)
	}
	value.(map[string]any)["sha256"] = nil
	var clear func(value any)
	clear = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			for key, below := range v {
				if slices.Contains([]string{"created", "seconds"}, key) {
					v[key] = nil
				}
				clear(below)
			}
		case []any:
			for _, below := range v {
				clear(below)
			}
		}
	}
	clear(value)
	cleared, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return cleared
}
