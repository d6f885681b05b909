package catalogue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/transform"
	"github.com/parquet-go/parquet-go"
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
	if err := vectors.Write(path, dim, values); err != nil {
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
	preset := c
	c.Quantizer.Codes, c.Quantizer.Levels = 4, levels
	c.Model.Hidden, c.Model.Dim = nil, 0
	c.Train.Split, c.Train.Evaluate, c.Train.Steps, c.Train.Batch = 1, 0, 5, 16
	tokenize.FitToSize(&c, preset, nil)
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
	one, config := []Source{{Input: file}}, small(t, "ste", 2)
	named := func(names ...string) (list []Source) {
		for _, name := range names {
			list = append(list, Source{Input: file, Name: name})
		}
		return list
	}
	for want, o := range map[string]Options{
		"at least one catalogue":                {},
		"--resolve luck: use token":             {Sources: one, Resolve: "luck"},
		"--spare 3: use 0 or more":              {Sources: one, Resolve: Reassign, Spare: 3},
		"--levels 0 --codes 0: use at least":    {Sources: one, Random: true},
		`two catalogues are called "x"; use`:    {Sources: named("x", "x"), Random: true, Config: config},
		`two catalogues are called "tokenizer"`: {Sources: named("tokenizer", "x"), Random: true, Config: config},
		"report.html exists and is not part":    {Sources: one, Random: true, Config: config, Output: own},
		"16 IDs, too few for 40 items":          {Sources: named("x", "y", "z", "w"), Random: true, Config: config},
		"cannot read":                           {Sources: []Source{{Input: filepath.Join(dir, "none.npy")}}, Random: true, Config: config},
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

// Random codes of two catalogues: every file of a union, and an addition to one.
func TestRandomUnion(t *testing.T) {
	dir := t.TempDir()
	in := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	embeddings(t, in("a", "emb.npy"), 12, 4)
	embeddings(t, in("b", "emb.npy"), 8, 4)
	o := Options{
		Sources: []Source{{Input: in("a", "emb.npy")}, {Input: in("b", "emb.npy")}}, Output: in("ids"),
		Random: true, Config: small(t, "ste", 3), Command: "gritvq ids",
	}
	r, err := Make(t.Context(), o, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Catalogues) != 2 || r.Catalogues[1].Items != 8 || r.Union.Items != 20 || r.Union.Before.Rate != 0 {
		t.Errorf("%+v", r)
	}
	text, err := json.Marshal(r)
	if err != nil || !bytes.Contains(text, []byte(`"union":{"items":20`)) || !bytes.Contains(text, []byte(`"tokenizer":"random codes, `)) {
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
	want := "a/ids.parquet a/items.jsonl a/manifest.json a/report.html " +
		"b/ids.parquet b/items.jsonl b/manifest.json b/report.html report.html union.json"
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
	addition := AddOptions{Dir: in("ids", "b"), Source: Source{Input: in("a", "emb.npy")}, Command: "gritvq ids add"}
	s, err := Add(t.Context(), addition, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Items != 20 || s.Added != 12 || s.Version != 2 || s.Catalogue.Key(19) != "20" ||
		!slices.Equal(s.Catalogue.IDs()[:len(before.IDs())], before.IDs()) {
		t.Errorf("%+v", s)
	}
	manifest, err := os.ReadFile(in("ids", "b", artifact.ManifestFile))
	for _, part := range []string{`"command": "gritvq ids add"`, `"created_by": "gritvq `} {
		if err != nil || !bytes.Contains(manifest, []byte(part)) {
			t.Errorf("no %s in %s, %v", part, manifest, err)
		}
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

// The last code of an item is the nearest of those that Reassign chooses from,
// whether codes are levels or slices.
func TestRankedCodesBeginWithTheItemsOwn(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "emb.npy")
	embeddings(t, file, 40, 8)
	sliced := small(t, "ste", 1)
	sliced.Quantizer.Parts = 3
	arranged := small(t, "kmeans-ste", 1)
	arranged.Quantizer.Arrange(3, 1)
	dependent := small(t, "ste", 3)
	dependent.Quantizer.Transform.Levels = transform.LevelsAffine
	for name, c := range map[string]vqtrain.Config{
		"grit": small(t, "grit", 3), "kmeans-ste": arranged, "vqvae": sliced, "levels": dependent,
	} {
		t.Run(name, func(t *testing.T) {
			ids := filepath.Join(dir, name)
			r, err := Make(t.Context(), Options{Sources: []Source{{Input: file}}, Output: ids, Config: c, Backend: "go"}, task.Silent{})
			if err != nil {
				t.Fatal(err)
			}
			table := r.Catalogues[0].Catalogue
			encoder, err := encoderOf(ids, table.Table, "go")
			if err != nil {
				t.Fatal(err)
			}
			s := &source{Source: Source{Input: file}, dir: ids}
			if err := s.read(t.Context(), task.Silent{}); err != nil {
				t.Fatal(err)
			}
			_, ranked, err := encoder.encode(t.Context(), s, 0, true)
			if err != nil {
				t.Fatal(err)
			}
			for row := range table.Len() {
				own := table.Codes(row)
				order := nearest(ranked(row, own[:2]))
				if order[0] != own[2] {
					t.Errorf("item %d has codes %v, the nearest last ones are %v", row, own, order)
				}
				if !slices.Equal(slices.Sorted(slices.Values(order)), []uint32{0, 1, 2, 3}) {
					t.Errorf("item %d can choose from %v", row, order)
				}
			}
		})
	}
}

// namedRow is a row of embeddings beside the name of its item.
type namedRow struct {
	Asin   string    `parquet:"asin"`
	Vector []float32 `parquet:"vector,list"`
}

// unnamedRow is a row of embeddings beside a column that names nothing.
type unnamedRow struct {
	Price  float64   `parquet:"price"`
	Vector []float32 `parquet:"vector,list"`
}

// keysOf makes IDs of a parquet file of rows and returns remarks and names.
func keysOf[R any](t *testing.T, rows []R, items string) (said string, keys []string, err error) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "emb.parquet")
	if err := parquet.WriteFile(file, rows); err != nil {
		t.Fatal(err)
	}
	var l listener
	o := Options{Sources: []Source{{Input: file, Items: items}}, Output: filepath.Join(dir, "ids"), Random: true, Config: small(t, "ste", 2)}
	r, err := Make(t.Context(), o, &l)
	if err != nil {
		return "", nil, err
	}
	return l.said.String(), r.Catalogues[0].Catalogue.keys, nil
}

// Items are called as the file of embeddings says, unless a list says otherwise.
func TestParquetEmbeddingsNameTheirItems(t *testing.T) {
	rows := []namedRow{{"B1", []float32{1, 2}}, {"B7", []float32{3, 1}}, {"B3", []float32{5, 0}}}
	items := filepath.Join(t.TempDir(), "items.csv")
	if err := os.WriteFile(items, []byte("id,title\nx,a\ny,b\nz,c\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const remark = `names its items itself, such as "B1"`
	said, keys, err := keysOf(t, rows, "")
	if err != nil || !slices.Equal(keys, []string{"B1", "B7", "B3"}) || !strings.Contains(said, remark) {
		t.Errorf("items %v, %v\n%s", keys, err, said)
	}
	said, keys, err = keysOf(t, rows, items)
	if err != nil || !slices.Equal(keys, []string{"x", "y", "z"}) || said != "" {
		t.Errorf("items %v, %v\n%s", keys, err, said)
	}
	said, keys, err = keysOf(t, []unnamedRow{{9, []float32{1, 2}}, {9, []float32{3, 1}}}, "")
	if err != nil || !slices.Equal(keys, []string{"1", "2"}) || said != "" {
		t.Errorf("items %v, %v\n%s", keys, err, said)
	}
	_, _, err = keysOf(t, []unnamedRow{{9, []float32{1, 2}}}, items)
	fails(t, err, "items.csv has 3 items, ")
	rows[2].Asin = "B1"
	_, _, err = keysOf(t, rows, "")
	fails(t, err, `items 0 and 2 are both called "B1"; check what was saved, or name the items with --items`)
}

// Dense IDs have one position, with a code an item; new items get new codes, which older models cannot name.
func TestDenseIDs(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	embeddings(t, in("emb.npy"), 12, 4)
	embeddings(t, in("new.npy"), 3, 4)
	o := Options{Sources: []Source{{Input: in("emb.npy")}}, Output: in("ids"), Dense: true, Command: "gritvq ids"}
	r, err := Make(t.Context(), o, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	older := r.Catalogues[0].Catalogue.Table
	if !older.Dense() || older.Width() != 1 || !slices.Equal(older.Vocab(), []int{12}) || older.ID(7)[0] != 7 || r.Catalogues[0].Before != 0 {
		t.Errorf("%+v", r.Catalogues[0])
	}
	if _, err := Add(t.Context(), AddOptions{Dir: in("ids"), Source: Source{Input: in("new.npy")}}, task.Silent{}); err != nil {
		t.Fatal(err)
	}
	later, err := Load(in("ids"))
	if err != nil || later.Len() != 15 || later.LastVocab() != 15 || later.ID(14)[0] != 14 {
		t.Fatalf("%+v (%v)", later, err)
	}
	if fitting, err := later.Fitting(older); err != nil || fitting.Len() != 12 {
		t.Errorf("an older model could name %d items (%v)", fitting.Len(), err)
	}
	_, err = Build([]uint32{0, 2}, []int{3}, []string{"a", "b"}, BuildOptions{Resolve: Unique})
	fails(t, err, `item "b" has code 2, and its own is 1`)
	for problem, o := range map[string]Options{
		"dense IDs never collide": {Sources: o.Sources, Output: in("x"), Dense: true, Resolve: Reassign},
		"is for dense IDs alone":  {Sources: o.Sources, Output: in("x"), Random: true, Resolve: Unique, Config: small(t, "ste", 2)},
	} {
		_, err := Make(t.Context(), o, task.Silent{})
		fails(t, err, problem)
	}
}
