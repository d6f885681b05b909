package modeldir

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/weights"
)

type settings struct {
	Width int `yaml:"width" doc:"Some size."`
}

func defaults(kind string) any {
	if kind != "test" {
		return nil
	}
	return &settings{Width: 1}
}

func declared(_ Manifest, c any) (weights.Set, error) {
	return weights.Set{"w": weights.New(c.(*settings).Width)}, nil
}

var purpose = Purpose{Name: "test model", Make: "gritvq test"}

// stored saves a model of width 2 and returns its directory.
func stored(tb testing.TB) string {
	tb.Helper()
	table, err := catalogue.Build([]uint32{0, 1, 1, 1}, []int{2, 2}, []string{"a", "b"}, catalogue.BuildOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	content := Content{Config: &settings{Width: 2}, Weights: weights.Set{"w": {Shape: []int{2}, Data: []float32{3, 4}}}, Table: table}
	if err := Save(dir, &Manifest{Kind: "test", CreatedBy: "a test"}, content); err != nil {
		tb.Fatal(err)
	}
	return dir
}

func TestRoundTrip(t *testing.T) {
	m, c, err := Load(stored(t), purpose, defaults, declared)
	if err != nil {
		t.Fatal(err)
	}
	if m.Kind != "test" || m.Schema != Schema || m.Items != 2 || !slices.Equal(m.Vocab, c.Table.Vocab()) || c.Config.(*settings).Width != 2 || !slices.Equal(c.Weights["w"].Data, []float32{3, 4}) || c.Table.Key(1) != "b" {
		t.Errorf("%+v, %+v", m, c)
	}
}

// Whatever is missing or changed is refused with a sentence that says so.
func TestLoadRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(dir string) error
		want  string
	}{
		"nothing":         {func(dir string) error { return os.Remove(filepath.Join(dir, ManifestFile)) }, "no finished test model"},
		"a torn manifest": {func(dir string) error { return os.WriteFile(filepath.Join(dir, ManifestFile), []byte("{"), 0o644) }, "damaged"},
		"a tokenizer": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ManifestFile), []byte(`{"kind": "pictures", "data": {"name": "x"}}`), 0o644)
		}, `kind "pictures"`},
		"another kind":    {replaced(ManifestFile, `"test"`, `"piano"`), `kind "piano"`},
		"a newer schema":  {replaced(ManifestFile, `"schema": 2`, `"schema": 3`), "upgrade gritvq"},
		"an older schema": {replaced(ManifestFile, `"schema": 2`, `"schema": 1`), "train it again"},
		"other weights":   {func(dir string) error { return os.WriteFile(filepath.Join(dir, ModelFile), []byte("x"), 0o644) }, "checksum"},
		"no weights":      {func(dir string) error { return os.Remove(filepath.Join(dir, ModelFile)) }, "damaged"},
		"another size":    {replaced(ConfigFile, "width: 2", "width: 3"), `variable "w" has shape [2]`},
		"unknown setting": {replaced(ConfigFile, "width: 2", "height: 2"), "height"},
		"no settings":     {func(dir string) error { return os.Remove(filepath.Join(dir, ConfigFile)) }, "damaged"},
		"other IDs": {func(dir string) error {
			table, err := catalogue.Build([]uint32{0, 1, 1, 1}, []int{2, 3}, []string{"a", "b"}, catalogue.BuildOptions{})
			if err != nil {
				return err
			}
			return table.Save(filepath.Join(dir, IDsDir))
		}, "its IDs are not those it was trained on"},
		"no IDs": {func(dir string) error { return os.RemoveAll(filepath.Join(dir, IDsDir)) }, IDsDir},
	} {
		dir := stored(t)
		if err := c.spoil(dir); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Load(dir, purpose, defaults, declared); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func replaced(file, old, with string) func(dir string) error {
	return func(dir string) error {
		path := filepath.Join(dir, file)
		content, err := os.ReadFile(path)
		if err == nil && !strings.Contains(string(content), old) {
			err = fmt.Errorf("%s has no %s", file, old)
		}
		if err != nil {
			return err
		}
		return os.WriteFile(path, []byte(strings.Replace(string(content), old, with, 1)), 0o644)
	}
}

func ExampleSave() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	table, err := catalogue.Build([]uint32{0, 1, 1, 1}, []int{2, 2}, []string{"a", "b"}, catalogue.BuildOptions{})
	if err != nil {
		log.Fatal(err)
	}
	content := Content{Config: &settings{Width: 2}, Weights: weights.Set{"w": weights.New(2)}, Table: table}
	if err := Save(dir, &Manifest{Kind: "test"}, content); err != nil {
		log.Fatal(err)
	}
	m, back, err := Load(dir, purpose, defaults, declared)
	fmt.Println(m.Kind, back.Table.Len(), err)
	// Output: test 2 <nil>
}
