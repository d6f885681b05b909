package lexical

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// Scores equal those of dense matrices in NumPy, which bm25.py wrote.
func TestReference(t *testing.T) {
	text, err := os.ReadFile("testdata/bm25.json")
	if err != nil {
		t.Fatal(err)
	}
	var ref struct {
		Texts []string
		Cases []struct {
			K1, B     float64
			Stem      bool
			Runs      int
			RunWeight float64 `json:"run_weight"`
			Search    string
			Scores    []float64
		}
	}
	if err := json.Unmarshal(text, &ref); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, c := range ref.Cases {
		x, err := New(Config{K1: c.K1, B: c.B, Stem: c.Stem, Runs: c.Runs, RunWeight: c.RunWeight}, ref.Texts)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float32, len(ref.Texts))
		x.Score(c.Search, got)
		for i, want := range c.Scores {
			if math.Abs(float64(got[i])-want) > 1e-5 {
				t.Errorf("%s: %q has %g for %q, want %g", x.config, ref.Texts[i], got[i], c.Search, want)
			}
			if want > 0 {
				found++
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d texts are found", found)
	}
}

func TestTerms(t *testing.T) {
	for word, want := range map[string]string{"oils": "oil", "berries": "berry", "glasses": "glasse", "glass": "glass", "bus": "bus",
		"shoes": "shoes", "s": "s", "ies": "ies", "des": "des", "tubes": "tube"} {
		if got := Stem(word); got != want {
			t.Errorf("the stem of %s is %s, want %s", word, got, want)
		}
	}
	if got := fmt.Sprintf("%q", Runs(Words("Oil, é"), 3)); got != `[" oi" "oil" "il " " é "]` {
		t.Errorf("runs %s", got)
	}
}

func TestSettings(t *testing.T) {
	c := Default()
	all := c.Alternatives()
	if len(all) != 8 || all[0] != c || slices.Index(all[1:], c) >= 0 {
		t.Errorf("alternatives %v", all)
	}
	for c, want := range map[Config]string{{B: 1.5}: "model.b: 1.5", {K1: -1}: "model.k1"} {
		if _, err := New(c, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
