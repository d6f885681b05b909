package recommender

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/interactions"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/learn"
	"github.com/gritvq/gritvq/semid"
	"github.com/gritvq/gritvq/task/seqrec"
)

// carousel is a log in which item i is always followed by item i+1: what comes
// next is known, so a model that learns must find it.
func carousel(t *testing.T, users, items int) (*interactions.Log, *semid.Table) {
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
	table, err := semid.Build(codes, []int{4, 3}, keys, semid.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return log, table
}

func tiny() Config {
	c := Default()
	c.Model.Layers, c.Model.Width, c.Model.FeedForward, c.Model.Heads, c.Model.HeadDim = 1, 16, 32, 2, 8
	c.Model.History, c.Model.UserBuckets, c.Model.Dropout = 4, 1, 0
	c.Train.Steps, c.Train.Batch, c.Train.Evaluate, c.Train.Log, c.Train.Save = 800, 32, 200, 50, 60
	c.Train.Optimizer.Rate, c.Train.Schedule.Warmup = 0.01, 20
	c.Beam, c.Train.Patience = 10, 0
	return c
}

func TestExamplesAreAllPrefixes(t *testing.T) {
	log, table := carousel(t, 12, 12)
	d, err := NewDataset(log, table)
	if err != nil {
		t.Fatal(err)
	}
	var got []seqrec.Example
	for i := range d.Examples() {
		got = append(got, d.example(i, 2))
	}
	var want []seqrec.Example
	for u := range log.Users() {
		s := log.Train(u)
		for at := 1; at < len(s); at++ {
			e := seqrec.Example{Target: d.rows[s[at]]}
			e.User = log.User(u)
			for _, item := range s[max(0, at-2):at] {
				e.History = append(e.History, d.rows[item])
			}
			want = append(want, e)
		}
	}
	if !slices.EqualFunc(got, want, func(a, b seqrec.Example) bool {
		return a.User == b.User && a.Target == b.Target && slices.Equal(a.History, b.History)
	}) {
		t.Errorf("examples %v, want %v", got, want)
	}
}

// A model learns the carousel, names the next item first for users it is tested
// on, and is the same after it was stored.
func TestTrainEvaluateStore(t *testing.T) {
	log, table := carousel(t, 60, 12)
	d, err := NewDataset(log, table)
	if err != nil {
		t.Fatal(err)
	}
	backend, c := gradtest.Engine(t), tiny()
	m, set, err := Train(t.Context(), backend, d, table.Vocab(), c, "carousel", t.TempDir(), false, learn.Observer{})
	if err != nil {
		t.Fatal(err)
	}
	ranking, err := Rank(t.Context(), backend, m, set, d, Test, RankOptions{Beam: 10})
	if err != nil {
		t.Fatal(err)
	}
	if scores := ranking.Mean(5); scores.Users != 60 || scores.NDCG < 0.95 {
		t.Errorf("%+v", scores)
	}
	if cold := d.Cold(Test, 0); len(cold) != 60 || slices.Contains(cold, true) {
		t.Errorf("every item is trained on: %v", cold)
	}
	dir := t.TempDir()
	r := &Recommender{Manifest: Manifest{CreatedBy: "test"}, Config: c, Model: m, Weights: set, Table: table}
	if err := r.Save(dir); err != nil {
		t.Fatal(err)
	}
	again, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	same, err := Rank(t.Context(), backend, again.Model, again.Weights, d, Test, RankOptions{Beam: 10})
	if err != nil {
		t.Fatal(err)
	}
	for i := range ranking.Len() {
		if !slices.Equal(ranking.Ranks(i), same.Ranks(i)) {
			t.Fatalf("user %d ranks %v, and %v after loading", i, ranking.Ranks(i), same.Ranks(i))
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ModelFile), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged model: %v", err)
	}
	if _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no finished recommender") {
		t.Errorf("an empty directory: %v", err)
	}
}

func TestItemsWithoutIDsAreRefused(t *testing.T) {
	log, _ := carousel(t, 12, 12)
	_, table := carousel(t, 4, 4)
	if _, err := NewDataset(log, table); err == nil || !strings.Contains(err.Error(), "has no ID") {
		t.Errorf("got %v", err)
	}
}
