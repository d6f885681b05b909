package recommend

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/catalogue"
)

// stored saves an untrained model and returns its directory.
func stored(t *testing.T) string {
	t.Helper()
	_, table := carousel(t, 4, 4)
	items, err := interactions.NewCatalogue([]interactions.Item{{ID: "ia", Title: "first"}, {ID: "ib"}, {ID: "ic"}, {ID: "id"}})
	if err != nil {
		t.Fatal(err)
	}
	c := tiny()["generative"]
	m, err := c.New(sizeOf(table))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := &Recommender{Config: c, Model: m, Weights: m.(Learner).Init(1), Catalogue: &catalogue.Catalogue{Table: table, Items: items}}
	if err := r.Save(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestLoadReturnsTitles(t *testing.T) {
	dir := stored(t)
	r, err := Load(t.Context(), dir, Recommending)
	if err != nil {
		t.Fatal(err)
	}
	if r.Catalogue.Title("ia") != "first" || r.Catalogue.Title("ib") != "" || r.Manifest.Schema != Schema || r.Manifest.Items != 4 {
		t.Errorf("%q, %+v", r.Catalogue.Title("ia"), r.Manifest)
	}
	if err := os.Remove(filepath.Join(dir, catalogue.ItemsFile)); err != nil {
		t.Fatal(err)
	}
	if r, err = Load(t.Context(), dir, Recommending); err != nil || r.Catalogue.Title("ia") != "" {
		t.Errorf("without titles: %v", err)
	}
}

// Whatever is missing or changed is refused with a sentence that says so.
func TestLoadRefuses(t *testing.T) {
	manifest := artifact.ManifestFile
	for name, c := range map[string]struct {
		spoil func(dir string) error
		want  string
	}{
		"nothing":         {removed(manifest), "is no recommender: it has no manifest.json"},
		"a torn manifest": {replaced(manifest, "{", ""), "damaged"},
		"a tokenizer":     {replaced(manifest, `"generative"`, `"pictures"`), `kind "pictures"`},
		"another kind":    {replaced(manifest, `"generative"`, `"piano"`), `kind "piano"`},
		"a newer schema":  {replaced(manifest, `"schema": 3`, `"schema": 4`), "upgrade gritvq"},
		"an older schema": {replaced(manifest, `"schema": 3`, `"schema": 1`), "make it again"},
		"other weights":   {replaced(ModelFile, "decoder", "recoder"), "checksum"},
		"no weights":      {removed(ModelFile), "missing"},
		"other settings":  {replaced(ConfigFile, "width: 16", "width: 32"), "checksum"},
		"no settings":     {removed(ConfigFile), "missing"},
		"other IDs": {func(dir string) error {
			table, err := catalogue.Build([]uint32{0, 1, 1, 1}, []int{2, 3}, []string{"a", "b"}, catalogue.BuildOptions{})
			if err != nil {
				return err
			}
			return table.Save(filepath.Join(dir, IDsDir))
		}, "its IDs are not those it was trained on"},
		"no IDs":      {func(dir string) error { return os.RemoveAll(filepath.Join(dir, IDsDir)) }, IDsDir},
		"torn titles": {replaced(catalogue.ItemsFile, "{", ""), catalogue.ItemsFile},
	} {
		dir := stored(t)
		if err := c.spoil(dir); err != nil {
			t.Fatal(err)
		}
		_, err := Load(t.Context(), dir, Recommending)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func removed(file string) func(dir string) error {
	return func(dir string) error { return os.Remove(filepath.Join(dir, file)) }
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

// Directories of schema 2, written by gritvq at commit 4869584, give the answers
// that this version gave. Their settings have the obsolete key mixer_decay.
func TestOlderDirectoriesAnswerAlike(t *testing.T) {
	for name, c := range map[string]struct {
		o    AskOptions
		want string
	}{
		"generative": {AskOptions{Purpose: Recommending, User: "u1", History: []string{"item1", "item2"}, Beam: 20},
			"item18 -2.12395, item6 -2.63361, item39 -3.05825"},
		"dual":   {AskOptions{Purpose: Recommending, History: []string{"item1", "item2"}}, "item27 1.03595, item28 1.00269, item24 0.96967"},
		"search": {AskOptions{Purpose: Searching, Text: "solar lantern"}, "item27 1.89992, item24 1.70130, item28 1.65422"},
	} {
		c.o.Dir, c.o.Count, c.o.Backend = filepath.Join("testdata", "schema2", name), 3, "go"
		answers, err := Ask(t.Context(), c.o, task.Silent{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range answers.Items {
			got = append(got, fmt.Sprintf("%s %.5f", a.Item, a.Score))
			if a.Title == "" {
				t.Errorf("%s: %s has no title", name, a.Item)
			}
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
	damaged := t.TempDir()
	if err := os.CopyFS(damaged, os.DirFS(filepath.Join("testdata", "schema2", "dual"))); err != nil {
		t.Fatal(err)
	}
	if err := replaced(ModelFile, "query", "quern")(damaged); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(t.Context(), damaged, Recommending); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("damaged weights of schema 2: %v", err)
	}
}
