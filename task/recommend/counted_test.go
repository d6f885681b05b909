package recommend

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/classical"
)

// Classical models are trained, stored, scored and asked by the workflows of all
// models, with the settings that validation chose.
func TestClassicalModels(t *testing.T) {
	const shop = "synthetic:shop?users=150&items=60"
	ids, source := shopIDs(t, shop), Log(shop, interactions.Options{})
	recall := map[string]float64{}
	for _, kind := range []string{"popularity", "itemknn", "transitions", "ease"} {
		c, err := Default(Recommending, kind)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "model")
		r, err := TrainModel(t.Context(), TrainOptions{Config: c, IDs: ids, Source: source, Dir: dir, Backend: "go"}, task.Silent{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Manifest.Kind != kind || r.Manifest.Protocol.Seen == "" {
			t.Errorf("%s: %+v", kind, r.Manifest)
		}
		loaded, err := Load(t.Context(), dir, Recommending)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := loaded.Model.String(), r.Model.String(); got != want {
			t.Errorf("%s was stored as %s", want, got)
		}
		e, err := Evaluate(t.Context(), EvalOptions{Dir: dir, Source: source, Alone: true, Backend: "go"}, task.Silent{})
		if err != nil {
			t.Fatal(err)
		}
		recall[kind] = e.Scores[1].Recall
		a, err := Ask(t.Context(), AskOptions{Dir: dir, Purpose: Recommending, History: []string{"item1", "item2"}, Count: 60, Backend: "go"},
			task.Silent{})
		if err != nil {
			t.Fatal(err)
		}
		seen := slices.ContainsFunc(a.Items, func(x Answer) bool { return x.Item == "item1" })
		if seen != (e.Protocol.Seen == KeepSeen) || a.Seen != e.Protocol.Seen {
			t.Errorf("%s: ask finds seen items: %v; eval: %s", kind, seen, e.Protocol.Seen)
		}
	}
	for kind, r := range recall {
		if kind != "popularity" && r <= recall["popularity"] {
			t.Errorf("%s has a recall of %g, popularity of %g", kind, r, recall["popularity"])
		}
	}
}

// Ranks among all items, seen ones left out or not, equal those of a list that is
// sorted as a whole; ties share their mean.
func TestRanksAmong(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		n := 3 + rng.IntN(12)
		scores := make([]float32, n)
		for i := range scores {
			scores[i] = float32(rng.IntN(4))
		}
		c := Case{}
		for range rng.IntN(5) {
			c.History = append(c.History, int32(rng.IntN(n)))
		}
		c.Relevant = []int32{int32(rng.IntN(n))}
		target := c.Relevant[0]
		for _, exclude := range []bool{false, true} {
			better, tied := 0, 0
			for i, s := range scores {
				if exclude && slices.Contains(c.History, int32(i)) {
					continue
				}
				if s > scores[target] {
					better++
				} else if s == scores[target] {
					tied++
				}
			}
			want := int(math.Ceil(float64(better) + float64(tied+1)/2))
			if exclude && slices.Contains(c.History, target) {
				want = 0
			}
			if got := ranksAmong(scores, c, exclude); got[0] != want {
				t.Fatalf("item %d of %v after %v, left out %v: rank %d, want %d", target, scores, c.History, exclude, got[0], want)
			}
		}
	}
}

// marked writes the log of a small shop in which the last two items of every user
// are replaced.
func marked(t *testing.T, validation, test string) *interactions.Log {
	t.Helper()
	var text strings.Builder
	rng := rand.New(rand.NewPCG(9, 9))
	for u := range 40 {
		fmt.Fprintf(&text, "u%d", u)
		for range 6 {
			fmt.Fprintf(&text, " i%d", rng.IntN(20))
		}
		fmt.Fprintf(&text, " %s %s\n", validation, test)
	}
	text.WriteString("all")
	for i := range 20 {
		fmt.Fprintf(&text, " i%d", i)
	}
	text.WriteString(" m1 m2 i0 i1\n")
	path := filepath.Join(t.TempDir(), "log.txt")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := interactions.Open(t.Context(), path, interactions.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// Nothing that is counted or learned from depends on the items of validation and
// test: replacing them by others changes no array of any classical model with fixed
// settings, and no training example.
func TestNoLeak(t *testing.T) {
	keys := []string{"m1", "m2"}
	for i := range 20 {
		keys = append(keys, fmt.Sprintf("i%d", i))
	}
	codes := make([]uint32, len(keys))
	for i := range codes {
		codes[i] = uint32(i)
	}
	table, err := catalogue.Build(codes, []int{len(keys)}, keys, catalogue.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	plain, planted := fromLog(t, marked(t, "i3", "i4"), table), fromLog(t, marked(t, "m1", "m2"), table)
	if plain.Fingerprint == planted.Fingerprint {
		t.Fatal("the marker is not in the log")
	}
	for i := range plain.Examples() {
		if a, b := plain.Example(i), planted.Example(i); !reflect.DeepEqual(a, b) {
			t.Fatalf("example %d is %v with the marker, %v without", i, b, a)
		}
	}
	if !slices.Equal(plain.targets, planted.targets) || !slices.Equal(plain.seen, planted.seen) {
		t.Error("the marker changes how often items are counted")
	}
	for _, m := range []classical.Method{
		classical.Popularity{}, classical.DefaultItemKNN(), classical.DefaultTransitions(), classical.DefaultEASE(),
	} {
		a, err := m.Fit(t.Context(), plain.counted())
		if err != nil {
			t.Fatal(err)
		}
		b, err := m.Fit(t.Context(), planted.counted())
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a.Pack(), b.Pack()) {
			t.Errorf("%s: the marker changes what is counted", m)
		}
	}
	// What networks start from is counted likewise; validation only chooses its settings,
	// and the items for testing have no part in it.
	tested := fromLog(t, marked(t, "i3", "m2"), table)
	for _, start := range append(slices.Clone(startMethods), startMethod{name: blendPrior}) {
		var priors []*Prior
		for _, d := range []*Dataset{plain, tested, planted} {
			p, err := fitPrior(t.Context(), d, start.name, 0)
			if err != nil {
				t.Fatal(err)
			}
			priors = append(priors, p)
		}
		if !reflect.DeepEqual(priors[0].arrays, priors[1].arrays) || priors[0].text != priors[1].text {
			t.Errorf("%s: the items for testing change a prior", start.name)
		}
		if !slices.Equal(priors[0].arrays[countsPath].Data, priors[2].arrays[countsPath].Data) {
			t.Errorf("%s: the items for validation are counted in a prior", start.name)
		}
	}
}

// References stand beside a model, are kept for the next call, and a model that is
// worse than one is warned of.
func TestReferences(t *testing.T) {
	const shop = "synthetic:shop?users=300&items=60"
	ids, source := shopIDs(t, shop), Log(shop, interactions.Options{})
	c, err := Default(Recommending, "popularity")
	if err != nil {
		t.Fatal(err)
	}
	dir, cache := filepath.Join(t.TempDir(), "model"), filepath.Join(t.TempDir(), "references")
	if _, err := TrainModel(t.Context(), TrainOptions{Config: c, IDs: ids, Source: source, Dir: dir, Backend: "go"},
		task.Silent{}); err != nil {
		t.Fatal(err)
	}
	evaluate := func(o EvalOptions) (*Evaluation, string) {
		t.Helper()
		w := &remarks{}
		o.Dir, o.Source, o.Backend = dir, source, "go"
		e, err := Evaluate(t.Context(), o, w)
		if err != nil {
			t.Fatal(err)
		}
		return e, w.text.String()
	}
	first, text := evaluate(EvalOptions{Cache: cache})
	if strings.Count(text, "counting a reference") != 3 {
		t.Errorf("remarks %q", text)
	}
	var names []string
	for _, r := range first.References {
		names = append(names, r.Name)
		if r.Against[0].Metric != eval.Recall || r.Against[0].K != 10 || r.Against[0].Model != first.Scores[1].Recall ||
			r.Against[0].Reference != r.Scores[1].Recall {
			t.Errorf("%s: %+v", r.Name, r)
		}
	}
	if !slices.Equal(names, []string{"popularity", "itemknn", "transitions"}) ||
		first.References[0].Against[0].Model != first.References[0].Against[0].Reference {
		t.Errorf("references %v; popularity against itself: %+v", names, first.References[0].Against[0])
	}
	if !strings.Contains(first.Below, "worse than a simple table: recall@10 is ") {
		t.Errorf("warning %q", first.Below)
	}
	second, text := evaluate(EvalOptions{Cache: cache})
	if text != strings.ReplaceAll(text, "counting", "") || !reflect.DeepEqual(first.References, second.References) {
		t.Errorf("the second time: %q, %+v", text, second.References)
	}
	if _, text := evaluate(EvalOptions{Cache: cache, Seen: DropSeen}); (first.Protocol.Seen == DropSeen) == strings.Contains(text,
		"counting") {
		t.Errorf("references of another rule for seen items: %q", text)
	}
	files, err := os.ReadDir(cache)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range files { // a damaged file is counted again, be it cut or one bit
		path := filepath.Join(cache, f.Name())
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if at := bytes.LastIndex(content, []byte("]]")) - 1; i > 0 && content[at] != '9' {
			content[at] ^= 1 // another rank
		} else {
			content = content[:1]
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if again, text := evaluate(EvalOptions{Cache: cache}); !strings.Contains(text, "counting") || !reflect.DeepEqual(again.References,
		first.References) {
		t.Errorf("after damage: %q", text)
	}
	if alone, _ := evaluate(EvalOptions{Alone: true}); alone.References != nil || alone.Below != "" {
		t.Errorf("references that nobody wanted: %+v", alone.References)
	}
}

// Training a network counts the references, so that evaluating it does not.
func TestTrainingCountsReferences(t *testing.T) {
	const shop = "synthetic:shop?users=60&items=60"
	ids, source, cache := shopIDs(t, shop), Log(shop, interactions.Options{}), t.TempDir()
	dir, w := filepath.Join(t.TempDir(), "model"), &remarks{}
	o := TrainOptions{Config: tiny()["dual"], IDs: ids, Source: source, Dir: dir, Cache: cache, Backend: "go"}
	if _, err := TrainModel(t.Context(), o, w); err != nil {
		t.Fatal(err)
	}
	if strings.Count(w.text.String(), "counting a reference") != 3 {
		t.Errorf("remarks in training %q", w.text.String())
	}
	w = &remarks{}
	e, err := Evaluate(t.Context(), EvalOptions{Dir: dir, Source: source, Cache: cache, Backend: "go"}, w)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.References) != 3 || strings.Contains(w.text.String(), "counting") {
		t.Errorf("%d references; remarks %q", len(e.References), w.text.String())
	}
}

// Seen items are dropped by default only where no user takes an item twice.
func TestSeenRule(t *testing.T) {
	log, table := carousel(t, 12, 12)
	d := fromLog(t, log, table)
	if d.Seen != DropSeen || d.protocol().Seen != DropSeen || !strings.Contains(d.protocol().String(),
		"seen items are dropped; tied items share") {
		t.Errorf("a log without repeats: %s", d.protocol())
	}
	log, table = carousel(t, 12, 4)
	d = fromLog(t, log, table)
	if d.Seen != KeepSeen {
		t.Errorf("a log with repeats: %s", d.protocol())
	}
	if d.setSeen(DropSeen); !d.dropsSeen() {
		t.Error("the rule cannot be changed")
	}
	if _, err := ParseSeen("maybe"); err == nil || !strings.Contains(err.Error(), "keep or drop") {
		t.Errorf("got %v", err)
	}
}

// A ranker of all items refuses histories of other catalogues.
func TestDenseRanker(t *testing.T) {
	r := historyRanker(constant{}, make([]float32, 3), true)
	if _, err := r.Top(t.Context(), []Question{{History: []int32{3}}}, 1); err == nil || !strings.Contains(err.Error(), "has 3 items") {
		t.Errorf("got %v", err)
	}
	lists, err := r.Top(t.Context(), []Question{{History: []int32{1}}}, 9)
	if err != nil || fmt.Sprint(lists) != "[[{0 1} {2 1}]]" {
		t.Errorf("%v, %v", lists, err)
	}
	var _ ExactRanker = r
}

type constant struct{}

func (constant) Score(_ []int32, scores []float32) {
	for i := range scores {
		scores[i] = 1
	}
}
