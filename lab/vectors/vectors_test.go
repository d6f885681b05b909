package vectors

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/task"
)

// Four test rows around the mean (1, 0) of the training rows, in two folds.
func TestScore(t *testing.T) {
	s := split{dim: 2, train: []float32{0, 0, 2, 0}, test: []float32{1, 1, 1, -1, 2, 0, 1, 1}, fold: []int{0, 0, 1, 1}}
	var r Record
	r.score(s, []float32{0.4, 0.4, 0, 0.4}) // of a total of 4
	if math.Abs(r.Error-0.3) > 1e-6 || len(r.Folds) != 2 || math.Abs(r.Folds[0]-0.2) > 1e-6 || math.Abs(r.Folds[1]-0.1) > 1e-6 {
		t.Errorf("error %g in folds %v, want 0.3 of 0.2 and 0.1", r.Error, r.Folds)
	}
	if r.Rows != 2 || r.Test != 4 || r.Dim != 2 {
		t.Errorf("sizes %d, %d, %d", r.Rows, r.Test, r.Dim)
	}
}

// Differences are paired by fold and averaged over common seeds.
func TestDifference(t *testing.T) {
	a := []Record{{Seed: 1, Folds: []float64{0.3, 0.5}}, {Seed: 2, Folds: []float64{0.1, 0.1}}, {Seed: 9, Folds: []float64{7, 7}}}
	b := []Record{{Seed: 2, Folds: []float64{0.1, 0.3}}, {Seed: 1, Folds: []float64{0.1, 0.1}}}
	gap, deviation, seeds := difference(a, b) // folds: (0.2 + 0)/2 and (0.4 - 0.2)/2
	if math.Abs(gap-0.2) > 1e-9 || deviation > 1e-9 || seeds != 2 {
		t.Errorf("%g ± %g of %d seeds, want 0.2 ± 0 of 2", gap, deviation, seeds)
	}
	// One seed: gaps 0.2 and 0.4 around 0.3, so 2/1 * (0.01 + 0.01).
	if _, deviation, _ = difference(a[:1], b); math.Abs(deviation-0.2) > 1e-9 {
		t.Errorf("deviation %g, want 0.2", deviation)
	}
	if _, _, seeds := difference(a[2:], b); seeds != 0 {
		t.Errorf("%d common seeds, want none", seeds)
	}
}

// Training and test rows are all rows, each once, and the same every time.
func TestSplitIsFixed(t *testing.T) {
	from := source{name: "small", paths: []string{"synthetic:mixture?rows=250&dim=4", "synthetic:manifold?rows=150&dim=4"}}
	first, err := from.open(t.Context(), "nowhere")
	if err != nil {
		t.Fatal(err)
	}
	again, err := from.open(t.Context(), "nowhere")
	if err != nil {
		t.Fatal(err)
	}
	if len(first.test) != 40*4 || len(first.train) != 360*4 || len(first.fold) != 40 {
		t.Errorf("%d and %d numbers, %d folds", len(first.train), len(first.test), len(first.fold))
	}
	if !slices.Equal(first.test, again.test) || !slices.Equal(first.train, again.train) {
		t.Error("two splits differ")
	}
	seen := map[[4]float32]bool{}
	for rows := append(slices.Clone(first.train), first.test...); len(rows) > 0; rows = rows[4:] {
		seen[[4]float32(rows)] = true
	}
	if len(seen) != 400 {
		t.Errorf("%d distinct rows of 400", len(seen))
	}
}

// A cell is measured once, failures are measured again, and the page follows the records.
func TestRunSkipsCellsWithRecords(t *testing.T) {
	kept := sources
	defer func() { sources = kept }()
	sources = []source{{name: "tiny", title: "tiny", paths: []string{"synthetic:mixture?rows=400&dim=4"}}}
	dir := t.TempDir()
	o := Options{Sets: SetNames(), Methods: []string{"faiss-rq", "rq", "lsq"}, Sizes: []string{"2x8"}, Seeds: 1, Limit: time.Minute,
		Python: filepath.Join(dir, "no-such-python"), Output: dir, Command: "bench vectors"}
	read := func() []Record {
		records, err := table.ReadLines[Record](filepath.Join(dir, "vectors.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return records
	}
	if err := Run(t.Context(), o, task.Silent{}); err != nil {
		t.Fatal(err)
	}
	records := read()
	if len(records) != 3 || records[0].Failed == "" || records[1].Error <= 0 || records[1].Error >= 1 || records[1].Config == "" {
		t.Fatalf("records %+v", records)
	}
	records[1].Error = 0.125 // to be recognised
	b := &bench{Options: o, watch: task.Silent{}, records: records}
	missing, err := b.missing("tiny", 1)
	if err != nil || len(missing) != 1 || missing[0].Method != "faiss-rq" {
		t.Errorf("missing are %v (%v), want faiss-rq", missing, err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "vectors.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## 2 x 8 codes", "| RQ |", "| LSQ |", "Failed: tiny faiss-rq", "make faiss"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	o.Sizes = []string{"four"}
	if err := Run(t.Context(), o, task.Silent{}); err == nil || !strings.Contains(err.Error(), "4x256") {
		t.Errorf("size four: %v", err)
	}
}

func TestReferencesComeFirst(t *testing.T) {
	methods := []string{"grit", "ste", "kmeans", "lsq", "faiss-lsq"}
	slices.SortStableFunc(methods, func(a, b string) int { return order(a) - order(b) })
	if want := []string{"faiss-lsq", "kmeans", "lsq", "grit", "ste"}; !slices.Equal(methods, want) {
		t.Errorf("order %v, want %v", methods, want)
	}
}
