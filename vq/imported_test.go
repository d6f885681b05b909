package vq

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gritvq/gritvq/weights"
)

func TestStartFromGivenCodes(t *testing.T) {
	for method := range methods {
		c, err := Defaults(method)
		if err != nil {
			t.Fatal(err)
		}
		c.Codes, c.Levels, c.Parts, c.Transform.Rank = 4, 2, 1, 2
		q, err := New(c, 3)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := q.(*Residual).levels[0].(importable); !ok || Classical(method) {
			_, err := StartFrom(q, nil)
			mentions(t, err, method, "no codebook")
			continue
		}
		books := []*weights.Array{weights.Normal(weights.Rand(1, "a"), 1, 4, 3), weights.Normal(weights.Rand(2, "b"), 1, 4, 3)}
		started, err := StartFrom(q, books)
		if err != nil {
			t.Fatal(err)
		}
		sample := Latents{Rows: weights.Normal(weights.Rand(3, "c"), 1, 50, 3).Data, N: 50, Dim: 3}
		set, err := started.Init(sample, weights.Rand(1, "codes"))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := q.Init(sample, weights.Rand(1, "codes"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain.Paths(), set.Paths()); diff != "" {
			t.Errorf("%s: other variables (-placed +imported):\n%s", method, diff)
		}
		for l, book := range books {
			path := []string{"level0/codes", "level1/codes"}[l]
			if diff := cmp.Diff(book.Data, set[path].Data); diff != "" {
				t.Errorf("%s level %d does not start from the given codes:\n%s", method, l, diff)
			}
		}
	}
}

func TestStartFromRefusesOtherShapes(t *testing.T) {
	c, _ := Defaults("ste")
	c.Codes, c.Levels = 4, 1
	q, err := New(c, 3)
	if err != nil {
		t.Fatal(err)
	}
	c.Parts = 3
	product, err := New(c, 3)
	if err != nil {
		t.Fatal(err)
	}
	for want, got := range map[string]func() (Quantizer, error){
		"2 codebooks were given": func() (Quantizer, error) { return StartFrom(q, []*weights.Array{weights.New(4, 3), weights.New(4, 3)}) },
		"has shape [5 3]":        func() (Quantizer, error) { return StartFrom(q, []*weights.Array{weights.New(5, 3)}) },
		"part 0: 0 codebooks":    func() (Quantizer, error) { return StartFrom(product, []*weights.Array{weights.New(4, 1)}) },
	} {
		if _, err := got(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
