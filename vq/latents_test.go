package vq

import (
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
