package vq

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"
)

// searchError is the mean squared error of a sample encoded by the method's own search.
func searchError(t *testing.T, c Config, f Fitted, sample Latents) float64 {
	t.Helper()
	q, err := New(c, sample.Dim)
	if err != nil {
		t.Fatal(err)
	}
	var books []*weights.Array
	for position := range q.Layout().Positions() {
		books = append(books, f.Variables[q.Layout().Path(position)+"/"+CodesPath])
	}
	search, err := NewSearch(q, f.Variables, books)
	if err != nil {
		t.Fatal(err)
	}
	codes, decoded := make([]uint32, sample.N*len(books)), make([]float32, len(sample.Rows))
	search.Encode(sample.Rows, sample.N, 0, c.Beam, codes, 0)
	if err := search.Decode(codes, sample.N, 0, decoded); err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for i, x := range decoded {
		gap := float64(x) - float64(sample.Rows[i])
		total += gap * gap
	}
	return total / float64(len(decoded))
}

// Codes of similar scale overlap in their sums. LSQ finds them: the error is that of the
// noise.
func TestLSQFindsSumsOfCodes(t *testing.T) {
	const n, dim, noise = 3000, 16, 0.01
	rng := newRand(3)
	books := [2]*weights.Array{weights.Normal(rng, 1, 8, dim), weights.Normal(rng, 0.6, 8, dim)}
	sample := Latents{Rows: make([]float32, n*dim), N: n, Dim: dim}
	for i := range n {
		for _, book := range books {
			for j, v := range book.Row(rng.IntN(8)) {
				sample.Rows[i*dim+j] += v
			}
		}
		for j := range dim {
			sample.Rows[i*dim+j] += float32(noise * rng.NormFloat64())
		}
	}
	c := classical(t, "lsq", 2, 1)
	if got := searchError(t, c, fitted(t, c, sample, FitOptions{Seed: 1}), sample); got > 1.1*noise*noise {
		t.Errorf("error %g, the noise is %g", got, noise*noise)
	}
}

// LSQ fits its sample better than RQ, for whole vectors and for parts.
func TestLSQFitsCloserThanRQ(t *testing.T) {
	for _, parts := range []int{1, 2} {
		sample := gaussianSample(20, 2000, 16)
		rq, lsq := classical(t, "rq", 4, parts), classical(t, "lsq", 4, parts)
		rq.Codes, lsq.Codes = 16, 16
		residual := searchError(t, rq, fitted(t, rq, sample, FitOptions{}), sample)
		additive := searchError(t, lsq, fitted(t, lsq, sample, FitOptions{}), sample)
		if t.Logf("%d parts: rq %.5f, lsq %.5f", parts, residual, additive); !(additive < residual) {
			t.Errorf("%d parts: error %g of lsq, %g of rq", parts, additive, residual)
		}
	}
}

func TestLSQRefusesHugeTables(t *testing.T) {
	c := classical(t, "lsq", 4, 1)
	c.Codes = 1 << 14
	_, err := FitClassical(t.Context(), c, gaussianSample(1, 10, 4), FitOptions{})
	mentions(t, err, "quantizer.codes", "16384", "fewer codes")
}

func ExampleLSQ() {
	c := LSQ.Config()
	c.Codes, c.Levels = 4, 2
	sample := Latents{Rows: []float32{0, 0, 10, 0, 0, 10, 10, 10, 1, 0, 11, 0, 1, 10, 11, 10}, N: 8, Dim: 2}
	fitted, err := FitClassical(context.Background(), c, sample, FitOptions{})
	fmt.Println(len(fitted.Variables), "codebooks added up,", err)
	// Output: 2 codebooks added up, <nil>
}

// A trained method with a local search starts as LSQ, to the bit: its codes and the codes of every row.
func TestLocalSearchStartsAsLSQ(t *testing.T) {
	for _, parts := range []int{1, 2} {
		sample := gaussianSample(20, 600, 12)
		lsq, grit := classical(t, "lsq", 3, parts), chosenConfig(t, "grit", 3)
		grit.Codes, grit.Parts, grit.Beam, grit.Search, grit.Start.From, grit.Start.Shrink = 8, parts, 1, Local, "rq", lsq.Start.Shrink
		want := fitted(t, lsq, sample, FitOptions{Seed: 4})
		books, err := FitStart(t.Context(), grit, sample, FitOptions{Seed: 4})
		if err != nil {
			t.Fatal(err)
		}
		encoded := func(c Config) []uint32 {
			q, err := New(c, sample.Dim)
			if err != nil {
				t.Fatal(err)
			}
			search, err := NewSearch(q, nil, books)
			if err != nil {
				t.Fatal(err)
			}
			codes := make([]uint32, sample.N*len(books))
			search.Encode(sample.Rows, sample.N, 0, 1, codes, 0)
			return codes
		}
		layout := Layout{Parts: parts, Levels: 3}
		for position, book := range books {
			if !slices.Equal(book.Data, want.Variables[layout.Path(position)+"/"+CodesPath].Data) {
				t.Errorf("%d parts: codebook %d is not that of LSQ", parts, position)
			}
		}
		local := encoded(grit)
		if !slices.Equal(local, encoded(lsq)) {
			t.Errorf("%d parts: rows have other codes than with LSQ", parts)
		}
		if grit.Search = Beam; slices.Equal(local, encoded(grit)) {
			t.Errorf("%d parts: the beam finds the same codes, so the search is untested", parts)
		}
	}
}

func TestLocalSearchNeedsIndependentCodes(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"exchanged one by one": func(c *Config) { c.Transform.Levels = transform.LevelsAffine },
		"Euclidean distance":   func(c *Config) { c.Levels, c.Distance = 1, Cosine },
		"fewer":                func(c *Config) { c.Codes = 1 << 14 },
		"no codes of levels":   func(c *Config) { *c = chosenConfig(t, "fsq", 1) },
		"unknown value":        func(c *Config) { c.Search = "random" },
	} {
		c := chosenConfig(t, "ste", 2)
		c.Search = Local
		if change(&c); want == "fewer" {
			want = "too many for 2 levels of 16384"
		}
		if want != "unknown value" {
			c.Search = Local
		}
		mentions(t, c.Validate(8), "quantizer.search", want)
		if c.Exchangeable() && c.Search == Local {
			t.Errorf("%s: codes can be exchanged", want)
		}
	}
}

// Tokenizers that were stored without the key search as they did.
func TestEarlierSearches(t *testing.T) {
	for method, want := range map[string]string{"lsq": Local, "rq": Beam, "grit": Beam} {
		c, err := Defaults(method)
		if err != nil || c.Earlier().Search != want {
			t.Errorf("%s searched by %s, want %s (%v)", method, c.Earlier().Search, want, err)
		}
	}
}
