// Package weights names the variables of a model and moves them between the host and a
// computation graph.
//
// A model's parameters are a [Set]: plain float32 arrays under slash-separated paths.
// Graph code asks [Vars], which resolves the same paths to graph nodes: to the store's
// variables (training), to averaged copies (evaluation) or to inputs (gradient tests).
package weights

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/internal/memory"
)

// Array is one variable on the host, row-major.
type Array struct {
	Shape []int
	Data  []float32
}

// New returns a zero array of the given shape. It panics with a sentence if there is not enough memory for it.
func New(shape ...int) *Array {
	memory.Need(fmt.Sprintf("a variable of %v numbers", shape), slices.Concat([]int{4}, shape)...)
	size := 1
	for _, dim := range shape {
		size *= dim
	}
	return &Array{Shape: slices.Clone(shape), Data: make([]float32, size)}
}

// Full returns an array with every element set to value.
func Full(value float32, shape ...int) *Array {
	a := New(shape...)
	for i := range a.Data {
		a.Data[i] = value
	}
	return a
}

// Eye returns the identity matrix [d,d].
func Eye(d int) *Array {
	a := New(d, d)
	for i := range d {
		a.Data[i*d+i] = 1
	}
	return a
}

// Normal returns an array of independent Gaussians of mean 0.
func Normal(rng *rand.Rand, std float64, shape ...int) *Array {
	a := New(shape...)
	for i := range a.Data {
		a.Data[i] = float32(rng.NormFloat64() * std)
	}
	return a
}

// Uniform returns an array of independent uniforms in [-limit, limit).
func Uniform(rng *rand.Rand, limit float64, shape ...int) *Array {
	a := New(shape...)
	for i := range a.Data {
		a.Data[i] = float32((2*rng.Float64() - 1) * limit)
	}
	return a
}

// Rand returns the generator of initial values for a seed and a purpose.
func Rand(seed uint64, purpose string) *rand.Rand {
	h := uint64(14695981039346656037) // FNV-1a
	for _, b := range []byte(purpose) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, h))
}

// Clone copies the array.
func (a *Array) Clone() *Array {
	return &Array{Shape: slices.Clone(a.Shape), Data: slices.Clone(a.Data)}
}

// Row returns row i of a matrix, sharing memory.
func (a *Array) Row(i int) []float32 {
	width := len(a.Data) / a.Shape[0]
	return a.Data[i*width : (i+1)*width]
}

// Set is a model's variables by path, such as "quantizer/level0/codes".
type Set map[string]*Array

// Paths lists the variables in sorted order.
func (s Set) Paths() []string { return slices.Sorted(maps.Keys(s)) }

// Merge adds every variable of other below prefix.
func (s Set) Merge(prefix string, other Set) Set {
	for p, a := range other {
		s[path.Join(prefix, p)] = a
	}
	return s
}

// Sub returns the variables below prefix, without the prefix, sharing the arrays.
func (s Set) Sub(prefix string) Set {
	sub := Set{}
	for p, a := range s {
		if rest, ok := strings.CutPrefix(p, prefix+"/"); ok {
			sub[rest] = a
		}
	}
	return sub
}

// Clone copies the set and its arrays.
func (s Set) Clone() Set {
	c := make(Set, len(s))
	for p, a := range s {
		c[p] = a.Clone()
	}
	return c
}

// Need panics with a sentence if there is not enough memory for n sets of the size of this one.
func (s Set) Need(what string, n int) {
	memory.Need(what, n, s.Count(), 4)
}

// Count is the number of scalars in all variables, state excluded.
func (s Set) Count() int {
	n := 0
	for p, a := range s {
		if GroupOf(p) != State {
			n += len(a.Data)
		}
	}
	return n
}

// Group says which learning rate a variable follows.
type Group string

// The parameter groups of the paper's training protocols, by path: "…/codes" is the raw
// codebook E, "…/mixer/…" is M, "…/feature/…" is W, "…/condition/…" makes codes depend on
// codes already sent, "…/condition/shortlist" proposes them, "…/radius/…" holds radius scalars, "…/state/…" is never trained (frozen
// copies, averages, caches), "encoder/…" is the network before the quantizer, "discriminator/…" judges pictures while a
// tokenizer of them is trained, the rest is the network after the quantizer.
const (
	Network   Group = "network"
	Encoder   Group = "encoder"
	Codes     Group = "codes"
	Mixer     Group = "mixer"
	Feature   Group = "feature"
	Condition Group = "condition"
	Shortlist Group = "shortlist"
	Radius    Group = "radius"
	Plain     Group = "plain" // part of the network without weight decay; no path is in it by itself, a problem says which are
	State     Group = "state"

	Discriminator Group = "discriminator"
)

// Groups lists every trainable group in a fixed order.
var Groups = []Group{Network, Encoder, Codes, Mixer, Feature, Condition, Shortlist, Radius, Plain, Discriminator}

// GroupOf derives the group of a variable from its path.
func GroupOf(p string) Group {
	parts := strings.Split(p, "/")
	group := Network
	for i, part := range parts {
		switch g := Group(part); g {
		case State:
			return State
		case Encoder, Mixer, Feature, Condition, Shortlist, Radius, Discriminator:
			group = g
		case Codes:
			if i == len(parts)-1 && group != Condition {
				group = Codes
			}
		}
	}
	return group
}

// Check reports the first difference between declared and loaded variables.
func (s Set) Check(loaded Set) error {
	for _, p := range s.Paths() {
		a, ok := loaded[p]
		if !ok {
			return fmt.Errorf("variable %q is missing", p)
		}
		if !slices.Equal(a.Shape, s[p].Shape) {
			return fmt.Errorf("variable %q has shape %v, the model needs %v", p, a.Shape, s[p].Shape)
		}
	}
	for _, p := range loaded.Paths() {
		if _, ok := s[p]; !ok {
			return fmt.Errorf("variable %q does not belong to this model", p)
		}
	}
	return nil
}
