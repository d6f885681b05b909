package export

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/tokenize"
)

const storedDir = "../../testdata/stored"

// Every format refuses what is damaged, unfinished or of another kind with one sentence that names it, and writes nothing.
func TestDamagedSourcesAreRefused(t *testing.T) {
	spoil := func(name string, change func(content []byte) []byte) func(dir string) error {
		return func(dir string) error {
			content, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, name), change(content), 0o644)
		}
	}
	cut := func(content []byte) []byte { return content[:len(content)/2] }
	flip := func(content []byte) []byte { content[len(content)-5] ^= 1; return content }
	replace := func(old, new string) func([]byte) []byte {
		return func(content []byte) []byte { return []byte(strings.Replace(string(content), old, new, 1)) }
	}
	const model = "model.safetensors"
	damage := map[string]func(dir string) error{
		"a cut model":       spoil(model, cut),
		"a flipped bit":     spoil(model, flip),
		"an empty model":    spoil(model, func([]byte) []byte { return nil }),
		"no model":          func(dir string) error { return os.Remove(filepath.Join(dir, model)) },
		"a cut manifest":    spoil(artifact.ManifestFile, cut),
		"no manifest":       func(dir string) error { return os.Remove(filepath.Join(dir, artifact.ManifestFile)) },
		"a newer schema":    spoil(artifact.ManifestFile, replace(`"schema": `, `"schema": 9`)),
		"an unknown kind":   spoil(artifact.ManifestFile, replace(`"kind": "`, `"kind": "un`)),
		"a cut config":      spoil("config.yaml", func(content []byte) []byte { return append(cut(content), "\n: ["...) }),
		"an empty manifest": spoil(artifact.ManifestFile, func([]byte) []byte { return []byte("{}") }),
	}
	for _, source := range []string{"vectors", "pictures", "dual", "search"} {
		for what, change := range damage {
			dir := filepath.Join(t.TempDir(), source)
			if err := os.CopyFS(dir, os.DirFS(filepath.Join(storedDir, source))); err != nil {
				t.Fatal(err)
			}
			if err := change(dir); err != nil {
				t.Fatalf("%s, %s: %v", source, what, err)
			}
			for _, format := range Formats() {
				refusedExport(t, fmt.Sprintf("%s with %s to %s", source, what, format), dir, format)
			}
		}
	}
}

// What no format can stand for is refused too.
func TestOtherSourcesAreRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.npy")
	if err := os.WriteFile(file, []byte("no tokenizer"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{file, filepath.Join(dir, "missing"), dir, storedDir + "/ids"} {
		for _, format := range Formats() {
			refusedExport(t, source+" to "+format, source, format)
		}
	}
	refusedExport(t, "pictures to faiss", storedDir+"/pictures", "faiss")
	refusedExport(t, "a generative recommender to onnx", storedDir+"/generative", "onnx")
}

func refusedExport(t *testing.T, what, source, format string) {
	t.Helper()
	output := filepath.Join(t.TempDir(), "exported")
	o := Options{CodingOptions: tokenize.CodingOptions{Dir: source, Backend: "go"}, To: format, Output: output}
	_, err := Run(t.Context(), o, task.Silent{})
	switch {
	case err == nil:
		t.Errorf("%s was exported", what)
	case strings.ContainsAny(err.Error(), "\n") || !strings.Contains(err.Error(), filepath.Base(source)):
		t.Errorf("%s: %v", what, err)
	}
	if _, err := os.Stat(output); !os.IsNotExist(err) {
		t.Errorf("%s left %s", what, written(output))
	}
}

func written(path string) (names []string) {
	_ = filepath.WalkDir(path, func(name string, _ fs.DirEntry, _ error) error {
		names = append(names, name)
		return nil
	})
	return names
}
