package retrieval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/twotower"
	"github.com/gritvq/gritvq/train"
)

// colours is a catalogue of 24 things, each of one of six colours and of four
// shapes, which its ID tells, and searches that name both: which thing answers
// one is known. The searches of a part use words in another order.
func colours(t *testing.T) (*interactions.Queries, *catalogue.Table) {
	t.Helper()
	var items []interactions.Item
	var codes []uint32
	q := &interactions.Queries{}
	for i := range 24 {
		colour, shape := fmt.Sprintf("colour%d", i/4), fmt.Sprintf("shape%d", i%4)
		items = append(items, interactions.Item{ID: colour + shape})
		codes = append(codes, uint32(i/4), uint32(i%4))
		for j, text := range []string{colour + " " + shape, "a " + shape + " in " + colour, shape + " " + colour} {
			part := interactions.TrainPart
			if j == 2 {
				part = []interactions.Part{interactions.ValidationPart, interactions.TestPart}[i%2]
			}
			q.List = append(q.List, interactions.Query{ID: fmt.Sprintf("%d.%d", i, j), Text: text, Answers: []int32{int32(i)}, Part: part})
		}
	}
	// One search has two answers, in the order of the catalogue.
	q.List = append(q.List, interactions.Query{ID: "two", Text: "shape0", Answers: []int32{0, 4}, Part: interactions.TrainPart})
	list, err := interactions.NewCatalogue(items)
	if err != nil {
		t.Fatal(err)
	}
	q.Catalogue = list
	var keys []string
	for _, item := range items {
		keys = append(keys, item.ID)
	}
	slices.Reverse(keys) // the table has an order of its own
	for i, j := 0, len(codes)-2; i < j; i, j = i+2, j-2 {
		codes[i], codes[i+1], codes[j], codes[j+1] = codes[j], codes[j+1], codes[i], codes[i+1]
	}
	table, err := catalogue.Build(codes, []int{6, 4}, keys, catalogue.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return q, table
}

func tiny() Config {
	c := Default()
	c.Model.Layers, c.Model.ItemLayers, c.Model.Width, c.Model.FeedForward, c.Model.Heads, c.Model.HeadDim = 1, 1, 16, 32, 2, 8
	c.Model.Length, c.Model.WordBuckets, c.Model.Dropout, c.Model.Positions = 4, 1000, 0, "none" // words in any order
	c.Train.Steps, c.Train.Batch, c.Train.Evaluate, c.Train.Patience, c.Train.Checkpoint = 300, 24, 100, 0, 7
	c.Train.Optimizer.Rate, c.Train.Schedule.Warmup = 0.01, 20
	return c
}

func newDataset(t *testing.T) *Dataset {
	t.Helper()
	d, err := NewDataset(colours(t))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestPairs(t *testing.T) {
	d := newDataset(t)
	if d.Pairs() != 2*24+2 {
		t.Fatalf("%d pairs", d.Pairs())
	}
	m, err := twotower.New(tiny().Model, twotower.Words, d.Table.Vocab())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int32]int{}
	for i := range d.Pairs() {
		e := d.pair(i, m)
		seen[e.Target]++
		if !slices.Contains(e.Answers, e.Target) || !slices.IsSorted(e.Answers) {
			t.Errorf("pair %d: %+v", i, e)
		}
		if want := math.Log(float64(d.counts[e.Target]) / 50); math.Abs(float64(e.LogShare)-want) > 1e-6 {
			t.Errorf("pair %d: share %g, want %g", i, e.LogShare, want)
		}
	}
	row, _ := d.Table.Row("colour1shape0")
	for target, n := range seen {
		if want := d.counts[target]; n != want {
			t.Errorf("item %d is a target %d times, want %d", target, n, want)
		}
	}
	if last := d.pair(49, m); seen[int32(row)] != 3 || len(last.Answers) != 2 {
		t.Errorf("the search with two answers: %+v", last)
	}
}

// An engine learns colours and shapes, finds the one thing that answers a search
// worded otherwise than those it saw, and is the same after it was stored.
func TestTrainEvaluateStore(t *testing.T) {
	d, c := newDataset(t), tiny()
	trained, err := Train(t.Context(), gradtest.Engine(t), d, c, train.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	trained.Searcher.Close()
	dir, r := t.TempDir(), trained.Retriever
	if err := r.Save(dir); err != nil {
		t.Fatal(err)
	}
	again, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if again.Config != c || again.Manifest.Items != 24 {
		t.Errorf("settings %+v and %d items after loading", again.Config, again.Manifest.Items)
	}
	for name, r := range map[string]*Retriever{"trained": r, "loaded": again} {
		for _, kind := range []string{"exact", "hnsw"} {
			searcher, err := r.Searcher(t.Context(), gradtest.Engine(t), twotower.SearchOptions{Index: kind})
			if err != nil {
				t.Fatal(err)
			}
			ranking, err := Rank(t.Context(), searcher, d, interactions.TestPart, RankOptions{Depth: 10})
			if err != nil {
				t.Fatal(err)
			}
			if scores := ranking.Mean(1); scores.Users != 12 || scores.Recall < 0.9 {
				t.Errorf("%s, %s: %+v", name, kind, scores)
			}
			searcher.Close()
		}
	}
	if cold := d.Cold(interactions.TestPart, 0); len(cold) != 12 || slices.Contains(cold, true) {
		t.Errorf("every item is trained on: %v", cold)
	}
	if cold := d.Cold(interactions.TestPart, 2); slices.Index(cold, false) >= 0 {
		t.Errorf("the items of the test answer two searches each: %v", cold)
	}
}

// A run that was interrupted ends as one that was not.
func TestResumedTrainingEndsAlike(t *testing.T) {
	d, c := newDataset(t), tiny()
	c.Train.Steps, c.Train.Evaluate = 30, 10
	whole, err := Train(t.Context(), gradtest.Engine(t), d, c, train.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	_, err = Train(ctx, gradtest.Engine(t), d, c, train.Options{Dir: dir, Watch: train.Observer{Step: func(r train.Record) {
		if r.Step == 13 {
			stop()
		}
	}}})
	if !errors.Is(err, train.ErrInterrupted) {
		t.Fatal(err)
	}
	resumed, err := Train(t.Context(), gradtest.Engine(t), d, c, train.Options{Dir: dir, Resume: true})
	if err != nil {
		t.Fatal(err)
	}
	whole.Searcher.Close()
	resumed.Searcher.Close()
	for _, p := range whole.Weights.Paths() {
		if gradtest.Embedded() && !slices.Equal(whole.Weights[p].Data, resumed.Weights[p].Data) {
			t.Errorf("%s differs after a resumed run", p)
		}
	}
}

// Answers of the same score share their mean ranks; one that is not found has 0.
func TestTiedAnswersShareTheirRanks(t *testing.T) {
	list := []twotower.Scored{{Item: 9, Score: 3}, {Item: 4, Score: 2}, {Item: 7, Score: 2}, {Item: 1, Score: 2}, {Item: 5, Score: 1}}
	for _, c := range []struct {
		answers []int32
		want    []int
	}{{[]int32{9}, []int{1}}, {[]int32{4}, []int{3}}, {[]int32{1}, []int{3}}, {[]int32{1, 5, 8}, []int{3, 5, 0}}, {[]int32{8}, []int{0}}, {[]int32{1, 4, 7}, []int{4, 2, 3}}} {
		got := ranksIn(list, c.answers)
		if len(c.answers) == 3 && c.answers[1] == 4 { // all that tie: in any order
			slices.Sort(got)
			slices.Sort(c.want)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("answers %v have ranks %v, want %v", c.answers, got, c.want)
		}
	}
}

// Other answers, texts or parts are other data.
func TestFingerprint(t *testing.T) {
	of := func(change func(q *interactions.Queries)) string {
		q, table := colours(t)
		change(q)
		d, err := NewDataset(q, table)
		if err != nil {
			t.Fatal(err)
		}
		return d.Fingerprint()
	}
	own := of(func(*interactions.Queries) {})
	if of(func(*interactions.Queries) {}) != own {
		t.Error("the same searches have two fingerprints")
	}
	for name, change := range map[string]func(q *interactions.Queries){
		"text":   func(q *interactions.Queries) { q.List[0].Text = "other" },
		"part":   func(q *interactions.Queries) { q.List[0].Part = interactions.TestPart },
		"answer": func(q *interactions.Queries) { q.List[0].Answers = []int32{1} },
		"fewer":  func(q *interactions.Queries) { q.List = q.List[1:] },
	} {
		if of(change) == own {
			t.Errorf("%s: the fingerprint of other searches", name)
		}
	}
}

func TestSource(t *testing.T) {
	shop, err := interactions.OpenShop("synthetic:shop?users=5&items=80")
	if err != nil {
		t.Fatal(err)
	}
	q, err := Source{Names: []string{"derived?count=20&answers=3&seed=4"}}.Open(t.Context(), shop.Catalogue)
	if err != nil {
		t.Fatal(err)
	}
	want, err := interactions.DeriveQueries(shop.Catalogue, interactions.DeriveOptions{Count: 20, MaxAnswers: 3, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	same := func(a, b interactions.Query) bool { return a.Text == b.Text && a.Part == b.Part }
	if len(q.List) != 20 || !slices.EqualFunc(q.List, want.List, same) {
		t.Errorf("%d searches", len(q.List))
	}
	for name, part := range map[string]string{"derived?seed=x": "seed=x", "derived?words=2": `"words"`, "derived?count=-1": "count=-1", "derived?%zz": "cannot understand", "nothing.parquet": "nothing.parquet", "derived2": "derived2"} {
		if _, err := (Source{Names: []string{name}}).Open(t.Context(), shop.Catalogue); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := (Source{Names: []string{"/a/b.parquet", "c/d.parquet"}}).String(); got != "b.parquet d.parquet" {
		t.Error(got)
	}
}

func TestDatasetRefuses(t *testing.T) {
	q, _ := colours(t)
	other, err := catalogue.Build([]uint32{0}, []int{1}, []string{"other"}, catalogue.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewDataset(q, other); err == nil || !strings.Contains(err.Error(), "has no ID") {
		t.Errorf("answers without IDs: %v", err)
	}
	q, table := colours(t)
	q.List = q.List[:2]
	if _, err := NewDataset(q, table); err == nil || !strings.Contains(err.Error(), "none is for validation") {
		t.Errorf("no validation: %v", err)
	}
	if _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no finished search engine") {
		t.Errorf("an empty directory: %v", err)
	}
	c := tiny()
	c.Train.Batch = 1
	if err := c.Validate(); err == nil {
		t.Error("a batch of one has nothing to tell apart")
	}
}

// Whatever follows "derived?", there are options or a sentence.
func FuzzDerived(f *testing.F) {
	for _, text := range []string{"count=10&seed=3", "answers=", "seed=99999999999", "a=1;b", "%", "count=1&count=2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := parseDerived("derived?" + text)
		if err == nil && (o.Count < 0 || o.MaxAnswers < 0) {
			t.Errorf("%q gives %+v", text, o)
		}
		if err != nil && err.Error() == "" {
			t.Errorf("%q gives an empty error", text)
		}
	})
}
