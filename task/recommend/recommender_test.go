package recommend

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

// carousel is a log where item i+1 always follows item i: the next item is
// known, so a model that learns must find it.
func carousel(t *testing.T, users, items int) (*interactions.Log, *catalogue.Table) {
	t.Helper()
	var text strings.Builder
	for u := range users {
		text.WriteString("u" + string(rune('a'+u%26)) + string(rune('a'+u/26)))
		for j := range 9 {
			text.WriteString(" i" + string(rune('a'+(u+j)%items)))
		}
		text.WriteString("\n")
	}
	path := filepath.Join(t.TempDir(), "sequences.txt")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := interactions.Open(t.Context(), path, interactions.Options{})
	if err != nil {
		t.Fatal(err)
	}
	codes, keys := []uint32{}, []string{}
	for i := range items {
		codes, keys = append(codes, uint32(i/4), uint32(i%3)), append(keys, "i"+string(rune('a'+i))) // some share codes
	}
	table, err := catalogue.Build(codes, []int{4, 3}, keys, catalogue.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return log, table
}

// tiny are small networks of both kinds, and short training.
func tiny() map[string]Config {
	generative, dual := DefaultGenerative(), DefaultDual()
	g, d := &generative.Model, &dual.Model
	g.Layers, g.Width, g.FeedForward, g.Heads, g.HeadDim = 1, 16, 32, 2, 8
	g.History, g.UserBuckets, g.Dropout, generative.Beam = 4, 1, 0, 10
	g.Tied, generative.Prior, generative.Subsequences = true, noPrior, 0
	generative.Train.Steps, generative.Train.Evaluate = 800, 200
	d.Layers, d.ItemLayers, d.Width, d.FeedForward, d.Heads, d.HeadDim = 1, 1, 16, 32, 2, 8
	d.Length, d.Dropout, d.Own, d.Whole, dual.Prior = 4, 0, false, 0, noPrior
	dual.Train.Steps, dual.Train.Evaluate = 300, 100
	all := map[string]Config{"generative": generative, "dual": dual}
	for _, c := range all {
		t := c.Training()
		t.Batch, t.Log, t.Checkpoint, t.Patience = 32, 50, 60, 0
		t.Optimizer.Rate, t.Schedule.Warmup = 0.01, 20
	}
	return all
}

func fromLog(t *testing.T, log *interactions.Log, table *catalogue.Table) *Dataset {
	t.Helper()
	d, err := FromLog(log, table)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestExamplesAreAllPrefixes(t *testing.T) {
	log, table := carousel(t, 12, 12)
	d := fromLog(t, log, table)
	rows, err := rowsOf(log.Items(), log.Item, table, log.Path())
	if err != nil {
		t.Fatal(err)
	}
	var got, want []Example
	for i := range d.Examples() {
		got = append(got, d.Example(i))
	}
	counts := make([]int, table.Len())
	for u := range log.Users() {
		s := log.Train(u)
		for at := 1; at < len(s); at++ {
			e := Example{Question: Question{Name: log.User(u)}, Target: rows[s[at]]}
			for _, item := range s {
				e.Own = append(e.Own, rows[item])
			}
			e.History = e.Own[:at]
			want = append(want, e)
			counts[e.Target]++
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("examples %v, want %v", got, want)
	}
	if !slices.Equal(d.targets, counts) {
		t.Errorf("targets %v, want %v", d.targets, counts)
	}
	for limit, want := range map[int]int{0: 12, 1: 1, 5: 4, 12: 12, 99: 12} { // every third user is at most five
		if cases := d.Cases(TestPart, limit); len(cases) != want {
			t.Errorf("at most %d users: %d questions, want %d", limit, len(cases), want)
		}
	}
	for u, c := range d.Cases(TestPart, 0) {
		sequence := log.Sequence(u)
		last := len(sequence) - 1
		if c.Name != log.User(u) || len(c.History) != last || !slices.Equal(c.Relevant, []int32{rows[sequence[last]]}) {
			t.Errorf("user %d is asked %+v", u, c)
		}
	}
}

// trained is Train without its ranker.
func trained(t *testing.T, ctx context.Context, d *Dataset, c Config, o train.Options) (Model, weights.Set, error) {
	t.Helper()
	trained, err := Train(ctx, gradtest.Engine(t), d, c, o)
	if err != nil {
		return nil, nil, err
	}
	trained.Ranker.Close()
	return trained.Model, trained.Weights, nil
}

func rank(t *testing.T, m Model, set weights.Set, d *Dataset, o network.Options) *eval.Ranking {
	t.Helper()
	ranker, err := m.Ranker(t.Context(), gradtest.Engine(t), set, d.catalogue(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer ranker.Close()
	ranking, err := Rank(t.Context(), ranker, d, TestPart, o.Depth, 0, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	return ranking
}

// A model of either kind learns the carousel, names the next item first for
// users it is tested on, and is the same after it was stored.
func TestTrainEvaluateStore(t *testing.T) {
	log, table := carousel(t, 60, 12)
	d := fromLog(t, log, table)
	for kind, c := range tiny() {
		m, set, err := trained(t, t.Context(), d, c, train.Options{Dir: t.TempDir(), Data: "carousel"})
		if err != nil {
			t.Fatal(err)
		}
		ranking := rank(t, m, set, d, network.Options{Depth: 10})
		if scores := ranking.Mean(5); scores.Users != 60 || scores.NDCG < 0.95 {
			t.Errorf("%s: %+v", kind, scores)
		}
		dir := t.TempDir()
		r := &Recommender{Config: c, Model: m, Weights: set, Catalogue: &catalogue.Catalogue{Table: table}}
		if err := r.Save(dir); err != nil {
			t.Fatal(err)
		}
		again, err := Load(t.Context(), dir, Recommending)
		if err != nil {
			t.Fatal(err)
		}
		if again.Config.Kind().Name != kind || again.Manifest.Kind != kind || again.Model.String() != m.String() {
			t.Errorf("a %s model came back as %s, %s", kind, again.Manifest.Kind, again.Model)
		}
		same := rank(t, again.Model, again.Weights, d, network.Options{Depth: 10})
		for i := range ranking.Len() {
			if !slices.Equal(ranking.Ranks(i), same.Ranks(i)) {
				t.Fatalf("%s: user %d ranks %v, and %v after loading", kind, i, ranking.Ranks(i), same.Ranks(i))
			}
		}
		answersFit(t, kind, m, set, d)
	}
	if cold := d.Cold(TestPart, 0); len(cold) != 60 || slices.Contains(cold, true) {
		t.Errorf("every item is trained on: %v", cold)
	}
	if _, err := Default(Recommending, "oracle"); err == nil || !strings.Contains(err.Error(), "dual or generative") {
		t.Errorf("an unknown kind: %v", err)
	}
}

// answersFit checks that answers have the length asked for, that seen items are
// left out on request, and that an index is used.
func answersFit(t *testing.T, kind string, m Model, set weights.Set, d *Dataset) {
	t.Helper()
	questions := []Question{{Name: "ua", History: []int32{5, 0, 1, 2, 3}}, {}}
	ranker, err := m.Ranker(t.Context(), gradtest.Engine(t), set, d.catalogue(), network.Options{Depth: 12, ExcludeSeen: true})
	if err != nil {
		t.Fatal(err)
	}
	defer ranker.Close()
	lists, err := ranker.Top(t.Context(), questions, 8)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{7, 8} { // five of twelve are seen
		if len(lists[i]) != want {
			t.Errorf("%s: %d answers to question %d, want %d", kind, len(lists[i]), i, want)
		}
		for place, item := range lists[i] {
			if slices.Contains(questions[i].History, item.Item) || place > 0 && item.Score > lists[i][place-1].Score {
				t.Errorf("%s: answers %v after %v", kind, lists[i], questions[i].History)
			}
		}
	}
	if _, err := ranker.Top(t.Context(), questions, 13); (err == nil) != (kind == "dual") { // an index finds lists of any length
		t.Errorf("%s: a list longer than the ranker was prepared for gives %v", kind, err)
	}
}

// A run that was interrupted ends as one that was not, for every kind.
func TestResumedTrainingEndsAlike(t *testing.T) {
	log, table := carousel(t, 20, 12)
	configs, walks, searches := tiny(), fromLog(t, log, table), fromColours(t)
	configs["search"] = tinySearch()
	for kind, c := range configs {
		d := walks
		if kind == "search" {
			d = searches
		}
		c.Training().Steps, c.Training().Evaluate, c.Training().Checkpoint = 30, 10, 7
		_, whole, err := trained(t, t.Context(), d, c, train.Options{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		ctx, stop := context.WithCancel(t.Context())
		_, _, err = trained(t, ctx, d, c, train.Options{Dir: dir, Watch: train.Observer{Step: func(r train.Record) {
			if r.Step == 13 {
				stop()
			}
		}}})
		if !errors.Is(err, train.ErrInterrupted) {
			t.Fatal(err)
		}
		_, resumed, err := trained(t, t.Context(), d, c, train.Options{Dir: dir, Resume: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range whole.Paths() {
			if gradtest.Embedded() && !slices.Equal(whole[p].Data, resumed[p].Data) {
				t.Errorf("%s: %s differs after a resumed run", kind, p)
			}
		}
		if _, _, err = trained(t, t.Context(), d, c, train.Options{Dir: dir, Data: "other", Resume: true}); err == nil {
			t.Errorf("%s: a checkpoint of other data was resumed", kind)
		}
	}
}

// listed is a ranker that answers every question with the same list.
type listed []Scored

func (l listed) Top(_ context.Context, questions []Question, _ int) ([][]Scored, error) {
	return slices.Repeat([][]Scored{l}, len(questions)), nil
}
func (l listed) Update(context.Context, weights.Set) error { return nil }
func (l listed) Close()                                    {}

// Items of the same score share their mean rank, rounded against the model.
func TestTiedAnswersShareTheirRank(t *testing.T) {
	log, table := carousel(t, 12, 12)
	d := fromLog(t, log, table)
	list := listed{
		{Item: 0, Score: 3}, {Item: 1, Score: 2}, {Item: 2, Score: 2}, {Item: 3, Score: 2}, {Item: 4, Score: 2}, {Item: 5, Score: 1},
	}
	ranking, err := Rank(t.Context(), list, d, TestPart, 6, 0, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[int32]int32{0: 1, 1: 4, 2: 4, 3: 4, 4: 4, 5: 6}
	for i, c := range d.Cases(TestPart, 0) {
		if got := ranking.Ranks(i)[0]; got != want[c.Relevant[0]] {
			t.Errorf("item %d has rank %d, want %d", c.Relevant[0], got, want[c.Relevant[0]])
		}
	}
	if ranking.Depth != 6 {
		t.Errorf("lists of 6 have depth %d", ranking.Depth)
	}
}

// A log needs somebody to be tested on, and validation finds whom there is.
func TestShortSequences(t *testing.T) {
	open := func(text string) *Dataset {
		_, table := carousel(t, 4, 4)
		path := filepath.Join(t.TempDir(), "sequences.txt")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		log, err := interactions.Open(t.Context(), path, interactions.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return fromLog(t, log, table)
	}
	pairs := open("a ia ib\nb ib ic\n")
	const nobody = "no user of three items or more"
	_, _, err := trained(t, t.Context(), pairs, tiny()["dual"], train.Options{Dir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), nobody) {
		t.Errorf("training without anybody to validate with: %v", err)
	}
	_, err = Rank(t.Context(), listed{}, pairs, TestPart, 5, 0, task.Silent{})
	if err == nil || !strings.Contains(err.Error(), nobody) {
		t.Errorf("scoring nobody: %v", err)
	}
	mixed := open("a ia ib\nb ib ic\nc ia ib ic id\nd ia ib\ne ib ic id ia\n")
	for limit, want := range map[int]int{0: 2, 1: 1, 2: 2, 9: 2} {
		if cases := mixed.Cases(ValidationPart, limit); len(cases) != want {
			t.Errorf("at most %d of two users are %d", limit, len(cases))
		}
	}
}

func TestItemsWithoutIDsAreRefused(t *testing.T) {
	log, _ := carousel(t, 12, 12)
	_, table := carousel(t, 4, 4)
	if _, err := FromLog(log, table); err == nil || !strings.Contains(err.Error(), "8 of the 12 items") {
		t.Errorf("got %v", err)
	}
}
