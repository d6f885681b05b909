package tokenize

import (
	"bufio"
	"cmp"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/tokenizer"
)

func readVectors(t *testing.T, path string) (values []float32, dim int) {
	t.Helper()
	v, err := vectors.Open(t.Context(), path, vectors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	values = make([]float32, v.Len()*v.Dim())
	if err := v.Rows(0, v.Len(), values); err != nil {
		t.Fatal(err)
	}
	return values, v.Dim()
}

// distancesOf returns the squared distances of a query to all rows, and their order.
func distancesOf(query, rows []float32) (distances []float64, order []int) {
	d := len(query)
	for i := range len(rows) / d {
		distances, order = append(distances, index.SquaredDistance(query, rows[i*d:(i+1)*d])), append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(distances[a], distances[b]) })
	return distances, order
}

func TestSearchThroughCodes(t *testing.T) {
	o := TrainOptions{
		Config: configure(t, false, "quantizer.method=rq", "quantizer.codes=16", "quantizer.levels=3", "model.hidden=[]", "model.dim=0"),
		Input:  Input{Path: mixture}, Output: filepath.Join(t.TempDir(), "tok"), Backend: "go",
	}
	trained, err := Train(t.Context(), o, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	coded, recon := filepath.Join(dir, "codes.gvq"), filepath.Join(dir, "recon.npy")
	coding := CodingOptions{Dir: trained.Dir, Input: mixture, Backend: "go"}
	if _, err := Encode(t.Context(), EncodeOptions{CodingOptions: coding, Output: coded}, task.Silent{}); err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(t.Context(), DecodeOptions{Dir: trained.Dir, Input: coded, Output: recon, Backend: "go"}, task.Silent{}); err != nil {
		t.Fatal(err)
	}
	const k, queries = 5, "synthetic:mixture?rows=12&dim=8&seed=2"
	x, d := readVectors(t, queries)
	originals, _ := readVectors(t, mixture)
	reconstructed, _ := readVectors(t, recon)
	search := SearchOptions{Dir: trained.Dir, Codes: coded, Queries: queries, K: k, Backend: "go"}
	check := func(name string, rows []float32, found []Neighbours) {
		t.Helper()
		if len(found) != 12 {
			t.Fatalf("%s: %d queries", name, len(found))
		}
		for q, n := range found {
			distances, order := distancesOf(x[q*d:(q+1)*d], rows)
			for i, row := range n.Rows {
				want := distances[order[i]]
				if math.Abs(float64(n.Distances[i])-want) > 1e-5*want+1e-6 || math.Abs(distances[row]-want) > 1e-5*want+1e-6 {
					t.Errorf("%s: query %d, place %d: row %d at %v, want %d at %v", name, q, i, row, n.Distances[i], order[i], want)
				}
			}
		}
	}
	found, err := Search(t.Context(), search, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	if !found.Tables || found.Rows != 400 || found.K != k {
		t.Errorf("found %+v", found)
	}
	check("codes", reconstructed, found.Neighbours)
	for _, extension := range neighbourFormats {
		search.Output = filepath.Join(dir, "found"+extension)
		if f, err := Search(t.Context(), search, task.Silent{}); err != nil || f.Neighbours != nil {
			t.Fatalf("%s: %+v, %v", extension, f, err)
		}
		check(extension, reconstructed, readNeighbours(t, search.Output, k))
	}
	search.Output, search.Originals, search.Candidates = "", mixture, 400
	if found, err = Search(t.Context(), search, task.Silent{}); err != nil {
		t.Fatal(err)
	}
	check("all candidates ranked again", originals, found.Neighbours)

	evaluation, err := Evaluate(t.Context(), EvaluateOptions{CodingOptions: coding, Recall: k}, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	scores := evaluation.Result.(*tokenizer.Scores)
	if scores.Search == nil || len(evaluation.Tables[0].Rows) < 3 {
		t.Fatalf("no recall in %+v", scores)
	}
	if want := plainRecall(t, originals, reconstructed, d, k); *scores.Search != want {
		t.Errorf("recall %+v, want %+v", *scores.Search, want)
	}
	testSearchMistakes(t, search, coding)
}

func readNeighbours(t *testing.T, path string, k int) (found []Neighbours) {
	t.Helper()
	switch filepath.Ext(path) {
	case ".npy":
		items := readCodes(t, path)
		distances, _ := readVectors(t, DistancesPath(path))
		_ = eachNeighbours(0, k, items, distances, func(n Neighbours) error { found = append(found, n); return nil })
		return found
	case ".parquet":
		records, err := parquet.ReadFile[neighbourRecord](path)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			n := Neighbours{Query: int(r.Query), Distances: r.Distances}
			for _, row := range r.Rows {
				n.Rows = append(n.Rows, uint32(row))
			}
			found = append(found, n)
		}
		return found
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var n Neighbours
		if err := json.Unmarshal(lines.Bytes(), &n); err != nil {
			t.Fatal(err)
		}
		found = append(found, n)
	}
	return found
}

// plainRecall is the score by sorting all distances of all queries.
func plainRecall(t *testing.T, originals, reconstructed []float32, d, k int) tokenizer.Recall {
	set, err := vectors.FromSlice("rows", originals, d)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRecallSet(set, k)
	if err != nil {
		t.Fatal(err)
	}
	var rows, coded []float32
	for _, i := range r.rows {
		rows, coded = append(rows, originals[i*d:(i+1)*d]...), append(coded, reconstructed[i*d:(i+1)*d]...)
	}
	want := tokenizer.Recall{K: k, Queries: len(r.queries), Rows: len(r.rows), Candidates: 10 * k}
	total := float64(len(r.queries) * k)
	for _, q := range r.queries {
		_, exact := distancesOf(originals[q*d:(q+1)*d], rows)
		_, found := distancesOf(originals[q*d:(q+1)*d], coded)
		for _, item := range exact[:k] {
			if slices.Contains(found[:k], item) {
				want.Recall++
			}
			if slices.Contains(found[:10*k], item) {
				want.Reranked++
			}
		}
		if slices.Contains(found[:k], exact[0]) {
			want.First++
		}
	}
	want.Recall, want.Reranked, want.First = want.Recall/total, want.Reranked/total, want.First/float64(len(r.queries))
	return want
}

func testSearchMistakes(t *testing.T, search SearchOptions, coding CodingOptions) {
	for _, test := range []struct {
		change func(o *SearchOptions)
		usage  bool
		want   string
	}{
		{func(o *SearchOptions) { o.K = 0 }, true, "-k 0 must be at least 1"},
		{func(o *SearchOptions) { o.K, o.Candidates = 401, 0 }, true, "-k 401 is more than the 400 rows"},
		{func(o *SearchOptions) { o.Candidates = 2 }, true, "--candidates 2 must be at least -k, 5"},
		{func(o *SearchOptions) { o.Originals = "" }, true, "--candidates needs --vectors"},
		{func(o *SearchOptions) { o.Originals = "synthetic:mixture?rows=9&dim=8" }, false, "has 9 rows"},
		{func(o *SearchOptions) { o.Queries = "synthetic:mixture?rows=9&dim=7" }, false, "has 7 dimensions"},
		{func(o *SearchOptions) { o.Output = "found.txt" }, true, "use .npy, .jsonl, .parquet"},
	} {
		o := search
		test.change(&o)
		_, err := Search(t.Context(), o, task.Silent{})
		if err == nil || isUsage(err) != test.usage || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
	for _, k := range []int{-1, 321} {
		if _, err := Evaluate(t.Context(), EvaluateOptions{CodingOptions: coding, Recall: k}, task.Silent{}); !isUsage(err) {
			t.Errorf("--recall %d: %v", k, err)
		}
	}
}
