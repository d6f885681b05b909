package recommend

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/catalogue"
)

// A search engine of words is trained, stored, scored and asked, and is the
// reference of others.
func TestBM25(t *testing.T) {
	const shop = "synthetic:shop?users=40&items=60"
	ids, source := shopIDs(t, shop), Searches([]string{"derived"}, interactions.QueryOptions{})
	c, err := Settings{Purpose: Searching, Model: "bm25"}.Config()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "model")
	if _, err := TrainModel(t.Context(), TrainOptions{Config: c, IDs: ids, Source: source, Dir: dir, Backend: "go"},
		task.Silent{}); err != nil {
		t.Fatal(err)
	}
	e, err := Evaluate(t.Context(), EvalOptions{Dir: dir, Source: source, Backend: "go"}, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	if len(e.References) != 1 || e.References[0].Against[0].Model != e.References[0].Against[0].Reference || e.Scores[1].Recall < 0.8 ||
		e.Protocol.Seen != "" {
		t.Errorf("%+v", e)
	}
	a, err := Ask(t.Context(), AskOptions{Dir: dir, Purpose: Searching, Text: "compact tunnel tents", Count: 3, Backend: "go"}, task.Silent{})
	if err != nil || len(a.Items) != 3 || !strings.Contains(strings.ToLower(a.Items[0].Title), "compact") ||
		a.Items[0].Score < a.Items[1].Score {
		t.Errorf("%+v, %v", a, err)
	}
}

// Settings that are given are not replaced by better ones.
func TestGivenSettingsStay(t *testing.T) {
	for set, want := range map[string]bool{"": true, "model.b=0.1": false, "validation_queries=9": true} {
		s := Settings{Purpose: Searching, Model: "bm25"}
		if set != "" {
			s.Set = []string{set}
		}
		c, err := s.Config()
		if err != nil {
			t.Fatal(err)
		}
		if got := c.(*BM25).Choose; got != want {
			t.Errorf("--set %s chooses settings: %v", set, got)
		}
	}
	c, err := Settings{Purpose: Searching, Model: "bm25", Set: []string{"model.b=0.1", "choose=true"}}.Config()
	if err != nil || !c.(*BM25).Choose {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestBM25NeedsTexts(t *testing.T) {
	table, err := catalogue.Build([]uint32{0, 1}, []int{2}, []string{"a", "b"}, catalogue.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := textsOf(&catalogue.Catalogue{Table: table}); err == nil || !strings.Contains(err.Error(),
		"give gritvq ids a file of items with titles") {
		t.Errorf("got %v", err)
	}
}
