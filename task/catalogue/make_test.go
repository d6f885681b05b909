package catalogue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// listener is a watcher that keeps remarks.
type listener struct {
	task.Silent
	said strings.Builder
}

func (l *listener) Remark(format string, args ...any) { fmt.Fprintf(&l.said, format+"\n", args...) }

// embeddings writes rows of a few clusters to a file.
func embeddings(t *testing.T, path string, rows, dim int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	values := make([]float32, rows*dim)
	for i := range values {
		values[i] = float32(math.Sin(float64(i*i%97)) + 3*float64(i/dim%5))
	}
	if err := writeVectors(path, values, dim); err != nil {
		t.Fatal(err)
	}
}

// small configures a tokenizer of levels x 4 codes on the vectors themselves.
func small(t *testing.T, method string, levels int) vqtrain.Config {
	t.Helper()
	c, err := vqtrain.Default(method)
	if err != nil {
		t.Fatal(err)
	}
	c.Quantizer.Codes, c.Quantizer.Levels = 4, levels
	c.Model.Hidden, c.Model.Dim = nil, 0
	c.Train.Split, c.Train.Evaluate, c.Train.Steps, c.Train.Batch = 1, 0, 5, 16
	return c
}

func TestNamesOfCatalogueFiles(t *testing.T) {
	for _, c := range []struct{ inputs, want string }{
		{"beauty.npy toys.npy", "beauty toys"},
		{"data/beauty/emb.npy data/toys/emb.npy", "beauty toys"},
		{"x/beauty.npy x/toys.items.jsonl", "beauty toys.items"},
	} {
		if got := namesOf(strings.Fields(c.inputs)); strings.Join(got, " ") != c.want {
			t.Errorf("%s are called %v, want %s", c.inputs, got, c.want)
		}
	}
}

func TestMakeRefusesNonsense(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.npy")
	embeddings(t, file, 10, 4)
	own := filepath.Join(dir, "own")
	if err := os.Mkdir(own, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, ReportFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	one, dense := []Source{{Input: file}}, &Dense{Levels: 2, Codes: 4}
	for want, o := range map[string]Options{
		"at least one catalogue":                {},
		"--resolve luck: use token":             {Sources: one, Resolve: "luck"},
		"--spare 3: use 0 or more":              {Sources: one, Resolve: Reassign, Spare: 3},
		"--levels 0 --codes 4: use at least":    {Sources: one, Dense: &Dense{Codes: 4}},
		`two catalogues are called "x"; use`:    {Sources: []Source{{Input: file, Name: "x"}, {Input: file, Name: "x"}}, Dense: dense},
		`two catalogues are called "tokenizer"`: {Sources: []Source{{Input: file, Name: "tokenizer"}, {Input: file, Name: "x"}}, Dense: dense},
		"report.html is there already":          {Sources: one, Dense: dense, Output: own},
		"16 IDs, too few for 40 items":          {Sources: []Source{{Input: file, Name: "x"}, {Input: file, Name: "y"}, {Input: file, Name: "z"}, {Input: file, Name: "w"}}, Dense: dense},
		"cannot read":                           {Sources: []Source{{Input: filepath.Join(dir, "none.npy")}}, Dense: dense},
	} {
		if o.Output == "" {
			o.Output = filepath.Join(dir, "ids")
		}
		_, err := Make(t.Context(), o, task.Silent{})
		fails(t, err, want)
		if _, err := os.Stat(filepath.Join(dir, "ids")); err == nil {
			t.Fatalf("%s: something was left", want)
		}
	}
}

// Dense IDs of two catalogues: every file of a union, and an addition to one.
func TestDenseUnion(t *testing.T) {
	dir := t.TempDir()
	in := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	embeddings(t, in("a", "emb.npy"), 12, 4)
	embeddings(t, in("b", "emb.npy"), 8, 4)
	o := Options{
		Sources: []Source{{Input: in("a", "emb.npy")}, {Input: in("b", "emb.npy")}}, Output: in("ids"),
		Dense: &Dense{Seed: 1, Levels: 2, Codes: 8}, Command: "gritvq ids",
	}
	r, err := Make(t.Context(), o, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Catalogues) != 2 || r.Catalogues[1].Items != 8 || r.Union.Items != 20 || r.Union.Before.Rate != 0 {
		t.Errorf("%+v", r)
	}
	text, err := json.Marshal(r)
	if err != nil || !bytes.Contains(text, []byte(`"union":{"items":20`)) || !bytes.Contains(text, []byte(`"tokenizer":"dense, `)) {
		t.Errorf("%s, %v", text, err)
	}
	var table strings.Builder
	if err := r.Table().Text(&table); err != nil || !strings.Contains(table.String(), "all ") {
		t.Errorf("%s, %v", table.String(), err)
	}
	var files []string
	fs.WalkDir(os.DirFS(in("ids")), ".", func(path string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	want := "a/ids.parquet a/items.jsonl a/manifest.json a/report.html b/ids.parquet b/items.jsonl b/manifest.json b/report.html report.html union.json"
	if strings.Join(files, " ") != want {
		t.Errorf("wrote %v", files)
	}
	if _, err := Make(t.Context(), o, task.Silent{}); err == nil || !strings.Contains(err.Error(), "holds a finished table") {
		t.Errorf("a second time: %v", err)
	}
	before, err := Open(t.Context(), in("ids", "b"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Add(t.Context(), AddOptions{Dir: in("ids", "b"), Source: Source{Input: in("a", "emb.npy")}, Command: "gritvq ids add"}, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Items != 20 || s.Added != 12 || s.Version != 2 || s.Catalogue.Key(19) != "20" || s.Catalogue.Extends(before.Table) != nil {
		t.Errorf("%+v", s)
	}
	manifest, err := os.ReadFile(in("ids", "b", artifact.ManifestFile))
	if err != nil || !bytes.Contains(manifest, []byte(`"command": "gritvq ids add"`)) || !bytes.Contains(manifest, []byte(`"created_by": "gritvq `)) {
		t.Errorf("%s, %v", manifest, err)
	}
}

// Items are added to a directory that an older gritvq wrote.
func TestAddToAnOlderTable(t *testing.T) {
	dir := older(t)
	file := filepath.Join(t.TempDir(), "more.csv")
	if err := os.WriteFile(file, []byte("id,title\nx,sun hat\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := Add(t.Context(), AddOptions{Dir: dir, Source: Source{Input: file}}, task.Silent{})
	if err != nil || s.Version != 3 || s.Items != 9 {
		t.Errorf("%+v, %v", s, err)
	}
	c, err := Open(t.Context(), dir)
	if err != nil || c.Title("x") != "sun hat" || c.Title("a") != "red nail polish" {
		t.Errorf("%+v, %v", c, err)
	}
	page, err := os.ReadFile(filepath.Join(dir, ReportFile))
	if err != nil || !bytes.Contains(page, []byte("version 3 added 1 item")) {
		t.Errorf("no report of version 3: %v", err)
	}
	_, err = Add(t.Context(), AddOptions{Dir: dir, Source: Source{Input: file}}, task.Silent{})
	fails(t, err, `"x" has an ID already`)
}
