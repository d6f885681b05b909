package rate

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/prior"
)

// Bits are those of the files; a second measurement of the same pictures replaces the first, and the page is made again from its
// records.
func TestCodec(t *testing.T) {
	const tokenizer, pictures = "../../testdata/stored/pictures", "synthetic:scenes?images=3&size=24"
	dir := filepath.Join(t.TempDir(), "prior")
	settings := prior.Settings{Set: []string{"model.layers=1", "model.width=8", "model.heads=2", "train.steps=2", "train.batch=4"}}
	if _, err := prior.TrainPrior(t.Context(), prior.TrainOptions{Dir: dir, Backend: "go", Settings: settings,
		Source: prior.Source{Tokenizer: tokenizer, Pictures: "synthetic:scenes?images=30&size=16"}}, task.Silent{}); err != nil {
		t.Fatal(err)
	}
	o := CodecOptions{Name: "scenes", Pictures: pictures, Most: 2, Tokenizer: tokenizer, Prior: dir, Backend: "go", Commit: "abc",
		Note: "two steps", Output: filepath.Join(t.TempDir(), "new")}
	for range 2 {
		if err := Codec(t.Context(), o, task.Silent{}); err != nil {
			t.Fatal(err)
		}
	}
	page := filepath.Join(o.Output, CodecName+".md")
	first, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| scenes | 2 | 288 | 3.000 | ", "* scenes: two steps.", "commit abc"} {
		if !strings.Contains(string(first), want) {
			t.Errorf("the page lacks %q:\n%s", want, first)
		}
	}
	if n := strings.Count(string(first), "| scenes |"); n != 1 {
		t.Errorf("%d rows", n)
	}
	if err := Codec(t.Context(), CodecOptions{Output: o.Output}, task.Silent{}); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(page); err != nil || string(again) != string(first) {
		t.Errorf("the page made again differs: %v", err)
	}
	r, err := o.measure(t.Context(), task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	// Two steps leave a prior that knows nothing; files have a header.
	if r.Prior < 1 || r.Prior > 6 || r.PriorPixel < r.Prior*288/(2*24*24) || math.Abs(r.Plain-3) > 1e-12 || r.Neighbour <= 0 {
		t.Errorf("%+v", r)
	}
}
