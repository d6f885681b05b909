package vq

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// Equal latents have directions too, which are finite.
func TestComponentsOfEqualLatents(t *testing.T) {
	sample := Latents{N: 20, Dim: 3, Rows: slices.Repeat([]float32{1.5, -2, 0}, 20)}
	c, err := principal(sample)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		direction, offset := c.unit(i, rand.New(rand.NewPCG(1, 2)))
		for _, x := range append(direction, offset) {
			if y := float32(x); y-y != 0 {
				t.Errorf("direction %d is %v, offset %g", i, direction, offset)
			}
		}
	}
}

// Placing codes ends with its context, for every quantizer.
func TestInitWatchesTheContext(t *testing.T) {
	sample := gaussianSample(1, 300, 8)
	for name, change := range map[string]func(*Config){
		"kmeans": func(c *Config) { c.Start.From = "kmeans" }, "rq": func(c *Config) { c.Start.From = "rq" },
		"parts": func(c *Config) { c.Start.From, c.Parts = "kmeans", 2 },
	} {
		c, err := Defaults(GRIT.Name)
		if err != nil {
			t.Fatal(err)
		}
		c.Codes, c.Levels = 64, 2
		change(&c)
		q, err := New(c, 8)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := q.Init(sample.With(ctx), rand.New(rand.NewPCG(1, 2))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		if _, err := q.Init(sample.With(ctx), rand.New(rand.NewPCG(1, 2))); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: after the end of the context: %v", name, err)
		}
	}
}
