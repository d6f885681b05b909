package compare

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gritvq/gritvq/lab/table"
)

// scored is a record of a method with an error for a seed.
func scored(method string, p Point, seed uint64, relative float64) Record {
	return Record{ID: method + "-" + p.String(), Method: method, Point: p, Seed: seed, Vocab: []int{2},
		Scores: table.Scores{"mse": relative / 2, "relative_error": relative, "recall_at_10": 1 - relative, "dead_codes": float64(seed),
			"bits_per_vector": p.Bits(), "parameters": 7,
			"train_seconds": 1.5, "encode_rate": 1000, "decode_rate": 2000, "utilization": 0.5},
		Usage: [][]uint64{{3, 1}}, Errors: make([]int, len(ErrorBins())+1)}
}

var small, large = Point{Codes: 4, Levels: 1, Parts: 1}, Point{Codes: 16, Levels: 2, Parts: 1}

func summarize(t *testing.T, records ...Record) map[string]Summary {
	t.Helper()
	list := OfVectors.Summarize(records)
	by := map[string]Summary{}
	for _, s := range list {
		by[s.Method] = s
	}
	return by
}

func TestMeansDeviationsAndRanks(t *testing.T) {
	list := OfVectors.Summarize([]Record{
		scored("b", small, 2, 0.5), scored("a", small, 2, 0.4), scored("b", small, 1, 0.3), scored("a", small, 1, 0.2),
		scored("a", large, 1, 0.1), scored("b", large, 1, 0.05),
		{Method: "c", Point: small, Seed: 1, Error: "no"}, {Method: "c", Point: small, Seed: 2, Error: "never"},
	})
	var order []string
	for _, s := range list {
		order = append(order, s.Method+" "+s.Point.String())
	}
	if want := []string{"a 4", "b 4", "c 4", "b 2 x 16", "a 2 x 16"}; !slices.Equal(order, want) {
		t.Fatalf("order %v, want %v", order, want)
	}
	a := list[0]
	if !a.Best() || a.Rank != 1 || a.Difference != nil || !slices.Equal(a.Seeds, []uint64{1, 2}) {
		t.Errorf("the best is %+v", a)
	}
	// Sample deviation of 0.2 and 0.4: 0.1 * sqrt 2.
	if math.Abs(a.Score("relative_error").Mean-0.3) > 1e-12 || math.Abs(a.Score("relative_error").Std-0.1*math.Sqrt2) > 1e-12 ||
		a.Score("dead_codes").Mean != 1.5 {
		t.Errorf("scores %+v", a)
	}
	if list[1].Rank != 2 || list[3].Rank != 1 || !list[3].Best() || list[2].Error != "no" || list[2].Rank != 0 {
		t.Errorf("ranks of %+v", list)
	}
}

func TestTiesWithOneSeed(t *testing.T) {
	by := summarize(t, scored("best", small, 1, 0.4), scored("near", small, 1, 0.4*1.0049), scored("far", small, 1, 0.4*1.0051))
	if near := by["near"]; !near.Tied() || near.Difference.Low != nil || math.Abs(near.Difference.Percent-0.49) > 1e-9 {
		t.Errorf("0.49 %% above the best: %+v", near.Difference)
	}
	if by["far"].Tied() || by["best"].Tied() {
		t.Error("0.51 % above the best is a tie, or the best ties with itself")
	}
}

func TestTiesOverSeedsFollowTheInterval(t *testing.T) {
	by := summarize(t,
		scored("best", small, 1, 0.40), scored("best", small, 2, 0.50), scored("best", small, 3, 0.30),
		// Always 0.01 or so worse: the seeds differ far more than the methods, and pairing sees it.
		scored("worse", small, 1, 0.411), scored("worse", small, 2, 0.510), scored("worse", small, 3, 0.309),
		// Worse on average, but once better.
		scored("mixed", small, 1, 0.45), scored("mixed", small, 2, 0.48), scored("mixed", small, 3, 0.33))
	worse, mixed := by["worse"], by["mixed"]
	// Differences 0.011, 0.010, 0.009: mean 0.01, deviation 0.001, and Student's
	// 97.5 % quantile with 2 degrees of freedom is 4.302653.
	half := 4.302653 * 0.001 / math.Sqrt(3)
	if d := worse.Difference; worse.Tied() || math.Abs(d.Mean-0.01) > 1e-9 || math.Abs(*d.Low-(0.01-half)) > 1e-6 ||
		math.Abs(*d.High-(0.01+half)) > 1e-6 || d.Seeds != 3 {
		t.Errorf("worse: tied %v, %+v", worse.Tied(), d)
	}
	if !mixed.Tied() || *mixed.Difference.Low > 0 {
		t.Errorf("mixed: tied %v, %+v", mixed.Tied(), mixed.Difference)
	}
}

func TestSeedsThatFailAreNamed(t *testing.T) {
	by := summarize(t, scored("best", small, 1, 0.4), scored("best", small, 2, 0.4), scored("half", small, 1, 0.5),
		Record{Method: "half", Point: small, Seed: 2, Error: "diverged"})
	half := by["half"]
	if half.Error != "" || len(half.Failures) != 1 || half.Failures[0] != (Failure{2, "diverged"}) || half.Difference.Seeds != 1 {
		t.Errorf("got %+v", half)
	}
	if got := Failures([]Summary{by["best"], half}); !slices.Equal(got, []string{"half failed with seed 2: diverged"}) {
		t.Errorf("the failures are %q", got)
	}
}

func TestJSONHoldsNullsAndFailures(t *testing.T) {
	list := OfVectors.Summarize([]Record{scored("a", small, 1, 0.4), {Method: "b", Point: small, Seed: 1, Error: "why"}})
	content, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	var read []map[string]any
	if err := json.Unmarshal(content, &read); err != nil {
		t.Fatal(err)
	}
	if score := read[0]["mse"].(map[string]any); score["mean"] != 0.2 || score["std"] != nil {
		t.Errorf("mse is %v", score)
	}
	if len(read[1]) != 5 || read[1]["method"] != "b" || read[1]["error"] != "why" {
		t.Errorf("a failure is %v", read[1])
	}
}

func TestSheetIsOneNumberACell(t *testing.T) {
	list := OfVectors.Summarize([]Record{scored("a", small, 1, 0.4), scored("a", small, 2, 0.5), scored("b", small, 1, 0.6),
		{Method: "c", Point: small, Error: "why, oh why"}})
	var b bytes.Buffer
	if err := OfVectors.Sheet(list).CSV(&b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll() // fails on rows of unequal length
	if err != nil {
		t.Fatal(err)
	}
	at := func(row int, name string) string { return rows[row][slices.Index(rows[0], name)] }
	if at(1, "relative_error") != "0.45" || at(2, "relative_error_std") != "" || at(3, "error") != "why, oh why" || at(3, "mse") != "" {
		t.Errorf("the sheet is %v", rows)
	}
}

func TestPageShowsEverything(t *testing.T) {
	a, b := scored("first", small, 1, 0.4), scored("second", small, 1, 0.5)
	used, held := 0.5, 0.9
	a.Course = []Moment{{Step: 1, Utilization: &used}, {Step: 2, Utilization: &used, Held: &held}}
	a.Errors[40], b.Errors[50] = 3, 4
	list := OfVectors.Summarize([]Record{a, b, scored("first", large, 1, 0.2), {Method: "third", Point: large, Error: "<b>broken</b>"}})
	r := Results{Kind: OfVectors, Methods: list, Data: Data{Name: "x.npy"}, Settings: Settings{Points: []Point{small, large},
		Seeds: []uint64{1}, Network: []int{8}}, Command: "gritvq compare x.npy", Created: time.Unix(0, 0)}
	var page bytes.Buffer
	drawn, err := r.Page()
	if err != nil {
		t.Fatal(err)
	}
	if err := drawn.Render(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Rate and distortion", "Held-out error, 4 codes", "Held-out error, 2 x 16 codes",
		"Errors of held-out rows", "How often each code is chosen, first", "gritvq compare x.npy", "&lt;b&gt;broken"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page.String(), "<b>broken") {
		t.Error("text became markup")
	}
}

func TestErrorBins(t *testing.T) {
	edges := ErrorBins()
	for x, want := range map[float64]int{0: 0, edges[0] / 2: 0, edges[0] * 1.01: 1, 1.01: 1 + 5*12, math.Inf(1): len(edges),
		math.NaN(): len(edges), 1e9: len(edges)} {
		if got := errorBin(x); got != want {
			t.Errorf("error %g is in bin %d, want %d", x, got, want)
		}
	}
	for i := 1; i < len(edges); i++ {
		if got := errorBin(math.Sqrt(edges[i-1] * edges[i])); got != i {
			t.Errorf("the middle between edges %d and %d is in bin %d", i-1, i, got)
		}
	}
}

// Tables show classical methods first, at every point, each group by rank.
func TestTablesShowReferencesFirst(t *testing.T) {
	var summaries []Summary
	for _, levels := range []int{2, 4} {
		for _, method := range []string{"grit", "lsq", "no such method", "rq"} {
			standing := table.Standing{Group: table.Group{Method: method}}
			summaries = append(summaries, Summary{Standing: standing, Point: Point{Codes: 8, Levels: levels, Parts: 1}, Error: "x", kind: OfVectors})
		}
	}
	var got []string
	for _, row := range OfVectors.Table(summaries, true).Rows {
		got = append(got, row[0].Text)
	}
	once := []string{"lsq", "rq", "grit", "no such method"}
	if want := slices.Concat(once, once); !slices.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
}
