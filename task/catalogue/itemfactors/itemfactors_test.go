package itemfactors

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// reference is testdata/factors.json, computed by factors.py.
type reference struct {
	Sequences [][]int32          `json:"sequences"`
	Content   [][]float32        `json:"content"`
	Products  [][]float64        `json:"products"`
	Recalls   map[string]float64 `json:"recalls"`
}

func load(t *testing.T) (reference, *Sequences, []float32) {
	t.Helper()
	text, err := os.ReadFile("testdata/factors.json")
	var r reference
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r, split(r.Sequences, len(r.Content)), slices.Concat(r.Content...)
}

func split(sequences [][]int32, items int) *Sequences {
	s := &Sequences{Items: items}
	for _, all := range sequences {
		u := User{Train: all, Validation: -1}
		if n := len(all) - 2; n > 0 {
			u = User{Train: all[:n:n], Validation: all[n]}
		}
		s.Users = append(s.Users, u)
	}
	return s
}

// Factors are determined up to a rotation of equal values: their products are compared.
func TestFactorsAgainstNumPy(t *testing.T) {
	r, s, _ := load(t)
	f, err := Fit(s)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range r.Products {
		for j, want := range row {
			got := 0.0
			for k := range f.Rank {
				got += float64(f.Values[i*f.Rank+k]) * float64(f.Values[j*f.Rank+k])
			}
			if math.Abs(got-want) > 1e-5 {
				t.Fatalf("items %d and %d have the product %g, expected %g", i, j, got, want)
			}
		}
	}
	absent := f.Values[(s.Items-2)*f.Rank:]
	if slices.ContainsFunc(absent, func(x float32) bool { return x != 0 }) {
		t.Errorf("items that nobody took have the factors %v", absent)
	}
}

func TestRecallAgainstNumPy(t *testing.T) {
	r, s, content := load(t)
	f, err := Fit(s)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Choose(t.Context(), s, f, content, len(r.Content[0]))
	if err != nil {
		t.Fatal(err)
	}
	best := 0.0
	for i, key := range []string{"0", "0.25", "0.5", "1", "2", "4"} {
		if got := c.Trials[i]; math.Abs(got.Recall-r.Recalls[key]) > 1e-12 || got.Rank != f.Rank {
			t.Errorf("gamma %s has recall %g with %d factors, expected %g with %d", key, got.Recall, got.Rank, r.Recalls[key], f.Rank)
		}
		best = max(best, r.Recalls[key])
	}
	if c.Recall != best || c.Gamma == 0 {
		t.Errorf("chose %+v; the best recall is %g", c.Trial, best)
	}
}

// What is held out has no part in the factors, and the test item has none in the choice either.
func TestHeldOutItemsDoNotLeak(t *testing.T) {
	r, s, content := load(t)
	f, err := Fit(s)
	if err != nil {
		t.Fatal(err)
	}
	changed := split(r.Sequences, s.Items)
	for i := range changed.Users {
		if changed.Users[i].Validation >= 0 {
			changed.Users[i].Validation = int32(s.Items) - 1 // a marker that occurs nowhere else
		}
	}
	g, err := Fit(changed)
	if err != nil || !slices.Equal(f.Values, g.Values) {
		t.Errorf("other validation items changed the factors (%v)", err)
	}
	changed.Users[0].Train[0] = int32(s.Items) - 1
	if g, err = Fit(changed); err != nil || slices.Equal(f.Values, g.Values) {
		t.Errorf("other training items did not change the factors (%v)", err)
	}
	first, err := Choose(t.Context(), s, f, content, len(r.Content[0]))
	if err != nil {
		t.Fatal(err)
	}
	again, err := Choose(t.Context(), s, f, content, len(r.Content[0]))
	if err != nil || !slices.Equal(first.Trials, again.Trials) {
		t.Errorf("the choice differs between two calls: %v, %v (%v)", first, again, err)
	}
}

func TestChooseIgnoresNoise(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const items, dim = 60, 6
	content := make([]float32, items*dim)
	for i := range content {
		if i%dim == i/dim%dim {
			content[i] = 1 // items of a group are equal, and users stay in a group
		}
		content[i] += float32(random.NormFloat64()) / 50
	}
	var sequences [][]int32
	for range 150 {
		group, sequence := random.IntN(dim), []int32{}
		for range 3 {
			sequence = append(sequence, int32(random.IntN(items/dim)*dim+group))
		}
		sequences = append(sequences, sequence)
	}
	s := split(sequences, items)
	for i := range s.Users { // training pairs that mean nothing
		s.Users[i].Train = append(s.Users[i].Train, int32(random.IntN(items)), s.Users[i].Train[0])
	}
	f, err := Fit(s)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Choose(t.Context(), s, f, content, dim)
	if err != nil {
		t.Fatal(err)
	}
	strong := c.Trials[len(gammas)-1]
	if c.Gamma > 0.5 || strong.Recall >= c.Recall {
		t.Errorf("chose gamma %g with recall %g; 4 has %g", c.Gamma, c.Recall, strong.Recall)
	}
}

func TestFactorsOfLittle(t *testing.T) {
	if _, err := Fit(split([][]int32{{0}, {1}}, 2)); err == nil {
		t.Error("a log without pairs has factors")
	}
	s := split([][]int32{{0, 1}, {1, 0}}, 3)
	f, err := Fit(s)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Choose(t.Context(), s, f, nil, 0)
	if err != nil || c.Gamma != 1 || c.Rank != f.Rank || c.Users != 0 {
		t.Errorf("nobody to ask: %+v (%v)", c, err)
	}
	if joined := f.First(1, 2).Join([]float32{7, 8, 9}, 1); len(joined) != 6 || joined[0] != 7 || joined[1] != 2*f.Values[0] ||
		joined[5] != 0 {
		t.Errorf("joined to %v", joined)
	}
}
