package classical

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/eval"
)

// reference is testdata/classical.json, which classical.py beside it wrote.
type reference struct {
	Items int       `json:"items"`
	Users [][]int32 `json:"users"`
	Cases []struct {
		Method  string    `json:"method"`
		Shrink  float64   `json:"shrink"`
		Window  int       `json:"window"`
		Norm    float64   `json:"norm"`
		L2      float64   `json:"l2"`
		Last    int       `json:"last"`
		Decay   float64   `json:"decay"`
		History []int32   `json:"history"`
		Scores  []float64 `json:"scores"`
		Ranks   []int     `json:"ranks"`
	} `json:"cases"`
}

// Scores, and ranks with their ties, equal those of NumPy and SciPy, also once they
// were packed and loaded.
func TestReference(t *testing.T) {
	text, err := os.ReadFile("testdata/classical.json")
	if err != nil {
		t.Fatal(err)
	}
	var ref reference
	if err := json.Unmarshal(text, &ref); err != nil {
		t.Fatal(err)
	}
	everyItem := make([]int, ref.Items)
	for i := range everyItem {
		everyItem[i] = i
	}
	ties := 0
	for _, c := range ref.Cases {
		w := Weighting{c.Last, c.Decay}
		m := map[string]Method{
			"popularity":  Popularity{},
			"itemknn":     ItemKNN{Weighting: w, Shrink: c.Shrink},
			"transitions": Transitions{Weighting: w, Window: c.Window, Norm: c.Norm},
			"ease":        EASE{Weighting: w, L2: c.L2, Items: 100},
		}[c.Method]
		fitted, err := m.Fit(t.Context(), Log{ref.Items, ref.Users})
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := m.Load(fitted.Pack(), ref.Items)
		if err != nil {
			t.Fatal(err)
		}
		for name, s := range map[string]Scorer{"fitted": fitted, "loaded": loaded} {
			got := make([]float32, ref.Items)
			s.Score(c.History, got)
			for i, x := range got {
				if math.Abs(float64(x)-c.Scores[i]) > 2e-6*max(1, math.Abs(c.Scores[i])) {
					t.Fatalf("%s %s after %v: item %d has %g, want %g", name, m, c.History, i, x, c.Scores[i])
				}
			}
			if c.Method == "ease" { // its ties are of rounding alone
				continue
			}
			for _, i := range everyItem {
				if rank := eval.RanksOf(got, []int{i})[0]; rank != c.Ranks[i] {
					t.Fatalf("%s %s after %v: item %d has rank %d, want %d", name, m, c.History, i, rank, c.Ranks[i])
				}
			}
			ties += ref.Items - len(slices.Compact(slices.Sorted(slices.Values(c.Ranks))))
		}
	}
	if ties == 0 {
		t.Error("the reference has no ties")
	}
}

func randomLog(seed uint64, users, items int) Log {
	rng := rand.New(rand.NewPCG(seed, 0))
	log := Log{Items: items}
	for range users {
		sequence := make([]int32, 1+rng.IntN(12))
		for i := range sequence {
			sequence[i] = int32(rng.IntN(1 + rng.IntN(items)))
		}
		log.Users = append(log.Users, sequence)
	}
	return log
}

func methods() []Method {
	return []Method{
		Popularity{},
		ItemKNN{Weighting: Weighting{0, 0.5}, Shrink: 3},
		Transitions{Weighting: Weighting{5, 1}, Window: 4, Norm: 0.5},
		EASE{Weighting: Weighting{3, 0}, L2: 5, Items: 100},
	}
}

// A score without the user equals that of a log which the user is not in.
func TestWithoutTheUser(t *testing.T) {
	log := randomLog(1, 60, 30)
	for _, m := range methods() {
		fitted, err := m.Fit(t.Context(), log)
		if err != nil {
			t.Fatal(err)
		}
		differs := false
		for u, own := range log.Users[:20] {
			rest := Log{log.Items, slices.Delete(slices.Clone(log.Users), u, u+1)}
			again, err := m.Fit(t.Context(), rest)
			if err != nil {
				t.Fatal(err)
			}
			for at := range own {
				got, want, with := make([]float32, log.Items), make([]float32, log.Items), make([]float32, log.Items)
				fitted.ScoreWithout(own, own[:at], got)
				again.Score(own[:at], want)
				fitted.Score(own[:at], with)
				differs = differs || !slices.Equal(want, with)
				for i := range got {
					if math.Abs(float64(got[i]-want[i])) > 1e-5*max(1, math.Abs(float64(want[i]))) {
						t.Fatalf("%s: item %d after %v of user %d has %g, want %g", m, i, own[:at], u, got[i], want[i])
					}
				}
			}
		}
		if !differs {
			t.Errorf("%s: no user changes a score", m)
		}
	}
}

// Rows keep their best entries only, and memory is bounded by that.
func TestNeighboursAreBounded(t *testing.T) {
	log := randomLog(2, 200, 40)
	for _, both := range [][2]Method{
		{ItemKNN{Shrink: 3, Neighbours: 4}, ItemKNN{Shrink: 3}},
		{Transitions{Window: 4, Neighbours: 4}, Transitions{Window: 4}},
		{EASE{L2: 5, Items: 40, Neighbours: 4}, EASE{L2: 5, Items: 40}},
	} {
		m, full := both[0], both[1]
		fitted, err := m.Fit(t.Context(), log)
		if err != nil {
			t.Fatal(err)
		}
		set := fitted.Pack()
		if n := len(set[itemsPath].Data); n > 40*4 || n < 40*3 || slices.Max(set[lengthsPath].Data) != 4 {
			t.Errorf("%s keeps %d neighbours", m, n)
		}
		all, err := full.Fit(t.Context(), log)
		if err != nil {
			t.Fatal(err)
		}
		few, every := make([]float32, 40), make([]float32, 40)
		fitted.Score([]int32{3}, few)
		all.Score([]int32{3}, every)
		size := func(x float32) float64 { return math.Abs(float64(x)) }
		for i, x := range few {
			for j, y := range every {
				if x != 0 && x != every[i] || x == 0 && few[j] != 0 && size(every[i]) > size(y) {
					t.Errorf("%s keeps %g of item %d and not %g of item %d", m, y, j, every[i], i)
				}
			}
		}
	}
	fitted, err := EASE{L2: 5, Items: 10}.Fit(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	if f := fitted.(*ease); len(f.chosen) != 10 || len(f.inverse) != 100 {
		t.Errorf("a regression of %d items", len(f.chosen))
	}
}

func TestTop(t *testing.T) {
	scores := []float32{1, 3, 3, 2, 3, float32(math.Inf(-1)), 0}
	counts := []float32{9, 1, 5, 0, 5, 99, 0}
	for want, c := range map[string]struct {
		k    int
		skip []int32
	}{
		"[2 4]":         {2, nil},
		"[2 1 3]":       {3, []int32{4}},
		"[2 4 1 3 0 6]": {10, nil},
		"[2]":           {1, nil},
	} {
		if got := fmt.Sprint(Top(scores, counts, c.k, c.skip)); got != want {
			t.Errorf("%d without %v: %s, want %s", c.k, c.skip, got, want)
		}
	}
}

func TestBadInput(t *testing.T) {
	for _, m := range methods() {
		if _, err := m.Fit(t.Context(), Log{3, [][]int32{{1, 3}}}); err == nil || !strings.Contains(err.Error(), "item 3 of a catalogue of 3") {
			t.Errorf("%s: %v", m, err)
		}
		if _, err := m.Load(nil, 3); err == nil {
			t.Errorf("%s was loaded from nothing", m)
		}
	}
	fitted, err := DefaultItemKNN().Fit(t.Context(), randomLog(3, 20, 10))
	if err != nil {
		t.Fatal(err)
	}
	set := fitted.Pack()
	if _, err := DefaultItemKNN().Load(set, 9); err == nil {
		t.Error("a table of ten items was loaded for nine")
	}
	set[itemsPath].Data[0] = 99
	if _, err := DefaultItemKNN().Load(set, 10); err == nil {
		t.Error("a table with an item beyond the catalogue was loaded")
	}
}
