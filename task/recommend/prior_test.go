package recommend

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

// shopData is a small shop with its IDs.
func shopData(t *testing.T, users int) (*Dataset, *catalogue.Catalogue) {
	t.Helper()
	name := fmt.Sprintf("synthetic:shop?users=%d&items=60", users)
	c, err := catalogue.Open(t.Context(), shopIDs(t, name))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Log(name, interactions.Options{}).Open(t.Context(), c, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	return d, c
}

// scoresOf are the scores of all items.
func scoresOf(p network.Prior, l network.Likely) []float32 {
	scores := make([]float32, len(p.Base()))
	l.Fill(p.Base(), scores)
	return scores
}

// A mixture is what its definition says, and loads as it was stored.
func TestMixture(t *testing.T) {
	d, c := shopData(t, 120)
	for _, name := range []string{"transitions", "itemknn", "ease", popularityName, blendPrior, autoPrior} {
		p, err := fitPrior(t.Context(), d, name, 50)
		if err != nil {
			t.Fatal(err)
		}
		m := p.Prior.(*mixture)
		if (p.name == autoPrior) || name != autoPrior && p.name != name || name != popularityName && len(m.parts) == 0 {
			t.Errorf("%s became %+v", name, p)
		}
		loaded, err := loadPrior(p.joined(weights.Set{}), p.name, c.Len())
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range d.Cases(TestPart, 10) {
			got := scoresOf(p, p.Answer(one.Question))
			if again := scoresOf(loaded, loaded.Answer(one.Question)); !reflect.DeepEqual(got, again) {
				t.Fatalf("%s: a loaded prior answers otherwise", name)
			}
			want := mixedByHand(m, d, one.History)
			for i, x := range got {
				if math.Abs(math.Exp(float64(x))-want[i]) > 1e-5*want[i] {
					t.Fatalf("%s: item %d has %g, want %g", name, i, math.Exp(float64(x)), want[i])
				}
			}
		}
	}
}

// mixedByHand are the factors of a mixture's definition, multiplied.
func mixedByHand(m *mixture, d *Dataset, history []int32) []float64 {
	want := make([]float64, len(m.counts))
	for i := range want {
		want[i] = math.Pow((float64(d.seen[int32(i)])+1)/m.total, m.popular)
	}
	for _, p := range m.parts {
		score, sum := make([]float32, len(want)), 0.0
		p.scorer.Score(history, score)
		for _, x := range score {
			sum += math.Max(0, float64(x))
		}
		for i, x := range score {
			share := math.Max(0, float64(x)) / max(sum, 1e-30)
			want[i] *= math.Pow((1-p.rest)*share+p.rest*(float64(d.seen[int32(i)])+1)/m.total, p.power)
		}
	}
	return want
}

// In training the prior is that of a log without the user, so it has not seen the
// target: an item that the user alone took is as good as one that nobody took.
func TestPriorHasNotSeenItsTarget(t *testing.T) {
	d, _ := shopData(t, 40)
	for _, start := range startMethods {
		without := func(skip int) (*mixture, []float32) {
			log, counts := d.counted(), make([]float32, d.Table.Len())
			if skip >= 0 {
				log.Users = slices.Delete(slices.Clone(log.Users), skip, skip+1)
			}
			for i, n := range log.Counts() {
				counts[i] = float32(n)
			}
			fitted, err := start.method.Fit(t.Context(), log)
			if err != nil {
				t.Fatal(err)
			}
			return newMixture([]part{{scorer: fitted, rest: 0.25, power: 1}}, 0, counts), counts
		}
		whole, _ := without(-1)
		differs := false
		for i := range d.Examples() {
			e := d.Example(i)
			user := slices.IndexFunc(d.cases[TrainPart], func(c Case) bool { return &c.History[0] == &e.Own[0] })
			if user > 10 {
				break
			}
			rest, _ := without(user)
			got, want := scoresOf(whole, whole.AnswerWithout(e)), scoresOf(rest, rest.Answer(e.Question))
			seen := scoresOf(whole, whole.Answer(e.Question))
			for item := range got {
				// Frequencies are shares of all interactions, with the user's.
				share := math.Exp(float64(want[item])) - rest.parts[0].rest*rest.frequency(rest.counts[item])
				exact := math.Log(share + whole.parts[0].rest*whole.frequency(rest.counts[item]))
				if math.Abs(float64(got[item])-exact) > 1e-4 {
					t.Fatalf("%s: item %d of example %d has %g, want %g", start.name, item, i, got[item], exact)
				}
			}
			differs = differs || seen[e.Target] > got[e.Target]+0.01
		}
		if !differs {
			t.Errorf("%s: no target was seen", start.name)
		}
	}
}

// Before its first step a model's ranks are its prior's; once trained, stored and loaded
// it gives the same answers, and it is not worse on validation than it began.
func TestModelsStartFromTheirPrior(t *testing.T) {
	const shop = "synthetic:shop?users=150&items=60"
	dual, search := tiny()["dual"].(*Dual), tinySearch()
	dual.Prior, search.Prior, dual.Model.Own, search.Model.Own = autoPrior, bm25Kind.Name, true, true
	whole := tiny()["dual"].(*Dual)
	whole.Prior, whole.Model.Own, whole.Model.Whole, whole.Model.OwnDropout = "itemknn", true, 60, 0.5
	generative := tiny()["generative"].(*Generative)
	generative.Prior, generative.Model.Tied, generative.Subsequences, generative.Beam = "transitions", false, 0.5, 60
	generative.Train.Batch = 16
	ids := shopIDs(t, shop)
	for name, c := range map[string]struct {
		config Config
		source Source
		ask    AskOptions
	}{
		"generative": {generative, Log(shop, interactions.Options{}), AskOptions{History: []string{"item1", "item2"}, Beam: 60}},
		"batch":      {dual, Log(shop, interactions.Options{}), AskOptions{History: []string{"item1", "item2"}}},
		"whole":      {whole, Log(shop, interactions.Options{}), AskOptions{History: []string{"item1", "item2"}}},
		"search":     {search, Searches([]string{"derived"}, interactions.QueryOptions{}), AskOptions{Text: "folding tents"}},
	} {
		items, err := catalogue.Open(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.source.Open(t.Context(), items, task.Silent{})
		if err != nil {
			t.Fatal(err)
		}
		made, err := prepare(t.Context(), d, c.config)
		if err != nil {
			t.Fatal(err)
		}
		depth := 60
		o := network.Options{Depth: depth, ExcludeSeen: d.dropsSeen()}
		first, err := made.model.Ranker(t.Context(), gradtest.Engine(t), made.prior.joined(made.model.(Learner).Init(1)), items, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(first.Close)
		alone := &dense{items: items.Len(), counts: make([]float32, items.Len()), excludeSeen: d.dropsSeen(),
			each: eachQuestion(items.Len(), func(q Question, scores []float32) { made.prior.Answer(q).Fill(made.prior.Base(), scores) })}
		start, err := Rank(t.Context(), first, d, ValidationPart, depth, 0, task.Silent{})
		if err != nil {
			t.Fatal(err)
		}
		want, err := Rank(t.Context(), alone, d, ValidationPart, depth, 0, task.Silent{})
		if err != nil {
			t.Fatal(err)
		}
		if !c.config.Kind().Index { // its sums of logarithms part ties; package seqrec tests the probabilities
			if a, b := start.Mean(10).NDCG, want.Mean(10).NDCG; math.Abs(a-b) > 0.02 {
				t.Errorf("%s: NDCG@10 of %g at first, of the prior %g", name, a, b)
			}
		} else if !reflect.DeepEqual(allRanks(start), allRanks(want)) {
			t.Errorf("%s: the first ranks are not the prior's", name)
		}
		c.config.Training().Steps, c.config.Training().Evaluate = 60, 20
		dir, w := filepath.Join(t.TempDir(), "model"), &remarks{}
		r, err := TrainModel(t.Context(), TrainOptions{Config: c.config, IDs: ids, Source: c.source, Dir: dir, Backend: "go"}, w)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(w.text.String(), "starting from: ") {
			t.Errorf("%s: remarks %q", name, w.text.String())
		}
		if got, least := ndcg10(r.Manifest.Validation), want.Mean(10).NDCG; got < least-1e-9 && c.config.Kind().Index {
			t.Errorf("%s: NDCG@10 of %g on validation is less than the prior's %g", name, got, least)
		}
		searches := []string{"", "hnsw"}
		if !c.config.Kind().Index {
			searches = searches[:1]
		}
		for _, search := range searches {
			c.ask.Dir, c.ask.Purpose, c.ask.Count, c.ask.Backend, c.ask.Search = dir, c.source.Purpose, 5, "go", search
			if a, err := Ask(t.Context(), c.ask, task.Silent{}); err != nil || len(a.Items) != 5 {
				t.Errorf("%s: %+v, %v", name, a, err)
			}
		}
		if len(searches) == 1 {
			continue
		}
		e, err := Evaluate(t.Context(), EvalOptions{Dir: dir, Source: c.source, Alone: true, Backend: "go"}, task.Silent{})
		if err != nil {
			t.Fatal(err)
		}
		near, err := Evaluate(t.Context(), EvalOptions{Dir: dir, Source: c.source, Alone: true, Backend: "go",
			SearchOptions: SearchOptions{Search: "hnsw", Effort: 60}}, task.Silent{})
		if err != nil {
			t.Fatal(err)
		}
		if a, b := ndcg10(e.Scores), ndcg10(near.Scores); math.Abs(a-b) > 1e-3 {
			t.Errorf("%s: NDCG@10 of %g with an exact search, %g with an index that looks at everything", name, a, b)
		}
	}
}

func ndcg10(scores []eval.RankingScores) float64 {
	for _, s := range scores {
		if s.K == 10 {
			return s.NDCG
		}
	}
	return math.NaN()
}

func allRanks(r *eval.Ranking) [][]int32 {
	var all [][]int32
	for i := range r.Len() {
		all = append(all, r.Ranks(i))
	}
	return all
}

// A catalogue without texts has no words to start from, and a run says so.
func TestSearchWithoutTexts(t *testing.T) {
	const shop = "synthetic:shop?users=40&items=60"
	dir := shopIDs(t, shop)
	bare, err := catalogue.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var items []interactions.Item
	for row := range bare.Len() {
		items = append(items, interactions.Item{ID: bare.Key(row)})
	}
	if err := catalogue.WriteItems(dir, items); err != nil {
		t.Fatal(err)
	}
	c := tinySearch()
	c.Prior, c.Train.Steps = bm25Kind.Name, 2
	source := Searches([]string{"derived"}, interactions.QueryOptions{})
	open := source.Open
	source.Open = func(ctx context.Context, items *catalogue.Catalogue, w task.Watcher) (*Dataset, error) {
		titled, err := catalogue.Open(ctx, shopIDs(t, shop))
		if err != nil {
			return nil, err
		}
		d, err := open(ctx, titled, w)
		if d != nil {
			d.Items = items.Items
		}
		return d, err
	}
	w := &remarks{}
	o := TrainOptions{Config: c, IDs: dir, Source: source, Dir: filepath.Join(t.TempDir(), "model"), Backend: "go"}
	r, err := TrainModel(t.Context(), o, w)
	if err != nil {
		t.Fatal(err)
	}
	if c.Prior != noPrior || r.Weights["prior_weight"] != nil || !strings.Contains(w.text.String(), "no BM25 to start from: no item") {
		t.Errorf("prior %s; remarks %q", c.Prior, w.text.String())
	}
}

// Items of the history compete with no target where answers leave them out: a batch says
// so to the loss, which is that of a softmax over the other items.
func TestSeenItemsDoNotCompete(t *testing.T) {
	d, _ := shopData(t, 40)
	for _, seen := range []Seen{DropSeen, KeepSeen} {
		d.setSeen(seen)
		c := tiny()["dual"].(*Dual)
		c.Prior, c.Model.Own, c.Model.Whole = "transitions", true, 60
		p, err := prepare(t.Context(), d, c)
		if err != nil {
			t.Fatal(err)
		}
		make, err := p.model.(Learner).Batches(d)
		if err != nil {
			t.Fatal(err)
		}
		examples := []Example{d.Example(0), d.Example(1), d.Example(2)}
		inputs, err := make(slices.Clone(examples), c.Model.Length)
		if err != nil {
			t.Fatal(err)
		}
		offsets, err := tensors.CopyFlatData[float32](inputs[len(inputs)-2])
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range examples {
			for item := range int32(60) {
				hidden := offsets[60*i+int(item)] < -1e20
				if want := seen == DropSeen && item != e.Target && slices.Contains(e.History, item); hidden != want {
					t.Errorf("--seen %s: item %d of example %d is hidden: %v", seen, item, i, hidden)
				}
			}
		}
	}
}
