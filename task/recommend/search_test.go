package recommend

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/network"
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

func tinySearch() *Search {
	c := DefaultSearch()
	m := &c.Model
	m.Layers, m.ItemLayers, m.Width, m.FeedForward, m.Heads, m.HeadDim = 1, 1, 16, 32, 2, 8
	m.Length, m.WordBuckets, m.Dropout, m.Positions = 4, 1000, 0, "none" // words in any order
	m.Own, m.Whole, c.Prior = false, 0, noPrior
	c.Train.Steps, c.Train.Batch, c.Train.Evaluate, c.Train.Patience, c.Train.Checkpoint = 300, 24, 100, 0, 7
	c.Train.Optimizer.Rate, c.Train.Schedule.Warmup = 0.01, 20
	return c
}

func fromColours(t *testing.T) *Dataset {
	t.Helper()
	d, err := FromSearches(colours(t))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestEveryAnswerIsATarget(t *testing.T) {
	d := fromColours(t)
	if d.Examples() != 2*24+2 || d.Queries != 2*24+1 {
		t.Fatalf("%d examples of %d searches", d.Examples(), d.Queries)
	}
	seen := map[int32]int{}
	for i := range d.Examples() {
		e := d.Example(i)
		seen[e.Target]++
		if !slices.Contains(e.Relevant, e.Target) || !slices.IsSorted(e.Relevant) {
			t.Errorf("example %d: %+v", i, e)
		}
	}
	row, _ := d.Table.Row("colour1shape0")
	for target, n := range seen {
		if want := d.targets[target]; n != want {
			t.Errorf("item %d is a target %d times, want %d", target, n, want)
		}
	}
	if last := d.Example(49); seen[int32(row)] != 3 || len(last.Relevant) != 2 {
		t.Errorf("the search with two answers: %+v", last)
	}
}

// The loss knows how often each target is drawn.
func TestSharesOfTargets(t *testing.T) {
	d := fromColours(t)
	m, err := tinySearch().New(sizeOf(d.Table))
	if err != nil {
		t.Fatal(err)
	}
	batch, err := m.(Learner).Batches(d)
	if err != nil {
		t.Fatal(err)
	}
	examples := []Example{d.Example(0), d.Example(49)}
	inputs, err := batch(examples, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, share := range tensors.MustCopyFlatData[float32](inputs[3]) {
		if want := math.Log(float64(d.targets[examples[i].Target]) / 50); math.Abs(float64(share)-want) > 1e-6 {
			t.Errorf("example %d: share %g, want %g", i, share, want)
		}
	}
}

// An engine learns colours and shapes, finds the one thing that answers a search
// worded otherwise than those it saw, and is the same after it was stored.
func TestSearchTrainsAndIsStored(t *testing.T) {
	d, c := fromColours(t), tinySearch()
	m, set, err := trained(t, t.Context(), d, c, train.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	dir, r := t.TempDir(), &Recommender{Config: c, Model: m, Weights: set, Catalogue: &catalogue.Catalogue{Table: d.Table}}
	if err := r.Save(dir); err != nil {
		t.Fatal(err)
	}
	again, err := Load(t.Context(), dir, Searching)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again.Config, c) || again.Manifest.Items != 24 {
		t.Errorf("settings %+v and %d items after loading", again.Config, again.Manifest.Items)
	}
	if _, err := Load(t.Context(), dir, Recommending); err == nil || !strings.Contains(err.Error(), `a search engine (kind "search")`) {
		t.Errorf("a search engine as a recommender: %v", err)
	}
	for name, r := range map[string]*Recommender{"trained": r, "loaded": again} {
		for _, index := range []string{"exact", "hnsw"} {
			ranking := rank(t, r.Model, r.Weights, d, network.Options{Depth: 10, Index: index})
			if scores := ranking.Mean(1); scores.Users != 12 || scores.Recall < 0.9 {
				t.Errorf("%s, %s: %+v", name, index, scores)
			}
		}
	}
	if cold := d.Cold(TestPart, 0); len(cold) != 12 || slices.Contains(cold, true) {
		t.Errorf("every item is trained on: %v", cold)
	}
	if cold := d.Cold(TestPart, 2); slices.Contains(cold, false) {
		t.Errorf("the items of the test answer two searches each: %v", cold)
	}
}

// Answers of the same score share their mean ranks; one that is not found has 0.
func TestTiedAnswersOfOneQuestion(t *testing.T) {
	list := []Scored{{Item: 9, Score: 3}, {Item: 4, Score: 2}, {Item: 7, Score: 2}, {Item: 1, Score: 2}, {Item: 5, Score: 1}}
	for _, c := range []struct {
		answers []int32
		want    []int
	}{
		{[]int32{9}, []int{1}}, {[]int32{4}, []int{3}}, {[]int32{1}, []int{3}},
		{[]int32{1, 5, 8}, []int{3, 5, 0}}, {[]int32{8}, []int{0}}, {[]int32{1, 4, 7}, []int{4, 2, 3}},
	} {
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
func TestFingerprintOfSearches(t *testing.T) {
	of := func(change func(q *interactions.Queries)) string {
		q, table := colours(t)
		change(q)
		d, err := FromSearches(q, table)
		if err != nil {
			t.Fatal(err)
		}
		return d.Fingerprint
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

func TestSearches(t *testing.T) {
	shop, err := interactions.OpenShop("synthetic:shop?users=5&items=80")
	if err != nil {
		t.Fatal(err)
	}
	q, err := readSearches(t.Context(), []string{"derived?count=20&answers=3&seed=4"}, interactions.QueryOptions{}, shop.Catalogue)
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
	for name, part := range map[string]string{
		"derived?seed=x": "seed=x", "derived?words=2": `"words"`, "derived?count=-1": "count=-1", "derived?%zz": "cannot understand",
		"nothing.parquet": "nothing.parquet", "derived2": "derived2",
	} {
		_, err := readSearches(t.Context(), []string{name}, interactions.QueryOptions{}, shop.Catalogue)
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := Searches([]string{"/a/b.parquet", "c/d.parquet"}, interactions.QueryOptions{}).Name; got != "b.parquet d.parquet" {
		t.Error(got)
	}
}

func TestFromSearchesRefuses(t *testing.T) {
	q, _ := colours(t)
	other, err := catalogue.Build([]uint32{0}, []int{1}, []string{"other"}, catalogue.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := FromSearches(q, other); err == nil || !strings.Contains(err.Error(), "have no ID, such as") {
		t.Errorf("answers without IDs: %v", err)
	}
	q, table := colours(t)
	q.List = q.List[:2]
	if _, err := FromSearches(q, table); err == nil || !strings.Contains(err.Error(), "none is for validation") {
		t.Errorf("no validation: %v", err)
	}
	c := tinySearch()
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
