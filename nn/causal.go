package nn

import (
	"fmt"
	"math/rand/v2"

	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/weights"
)

// Causal is a Transformer whose vectors see themselves and those before them: a model of
// sequences, without a memory. Positions are "absolute" or "none".
type Causal struct{ Transformer }

// Init returns the variables of an Encoder.
func (c Causal) Init(rng *rand.Rand) weights.Set { return c.init(rng, false) }

// Build maps x [B, T, Width] to [B, T, Width].
func (c Causal) Build(v weights.Vars, x *graph.Node, random *Random) *graph.Node {
	c.check()
	h := random.Dropout(c.enter(v, x, 0), c.Dropout, 1)
	view := c.attention().View(h, h, Mask{Causal: true}, nil)
	for i := range c.Layers {
		layer := v.In("layer%d", i)
		h = c.add(layer, "self", h, random, func(v weights.Vars, x *graph.Node) *graph.Node {
			return c.attention().Build(v, x, x, view, random)
		})
		h = c.feed(layer, h, random)
	}
	return c.leave(v, h, x, random)
}

// Empty is the cache of Step before the first place: zeros for rows sequences of at
// most length vectors, in the precision that x enters the stack with.
func (c Causal) Empty(x *graph.Node, rows, length int) []KeyValues {
	all := make([]KeyValues, c.Layers)
	shape := shapes.Make(InPrecision(x, c.DType).DType(), rows, c.Heads, length, c.HeadDim)
	for i := range all {
		all[i] = KeyValues{graph.Zeros(x.Graph(), shape), graph.Zeros(x.Graph(), shape)}
	}
	return all
}

// Step is Build for the vector of each sequence at one position (int32, a scalar):
// x [R, Width] to [R, Width]. Past, as next of the step before or Empty, has a fixed
// length T above the position; next is past with the keys and values of this position.
// The position is data: one program serves all.
func (c Causal) Step(v weights.Vars, x, position *graph.Node, past []KeyValues) (y *graph.Node, next []KeyValues) {
	c.check()
	rows, length := x.Shape().Dim(0), past[0].Keys.Shape().Dim(2)
	if c.Positions == "absolute" {
		if length > c.Length {
			panic(fmt.Errorf("nn: a cache of %d vectors is longer than the %d positions of the model", length, c.Length))
		}
		place := c.places().Build(v.In("positions"), graph.Reshape(position, 1)) // [1, Width]
		x = graph.Add(x, graph.ConvertDType(place, x.DType()))
	}
	h := InPrecision(graph.ExpandAxes(x, 1), c.DType) // [R, 1, Width]
	view := NewView(h, [4]int{1, c.Heads, 1, length}, Mask{Lengths: graph.AddScalar(graph.Reshape(position, 1), 1)}, nil)
	for i := range c.Layers {
		layer := v.In("layer%d", i)
		h = c.add(layer, "self", h, nil, func(v weights.Vars, x *graph.Node) *graph.Node {
			now := c.attention().Remember(v, x, nil)
			all := KeyValues{put(past[i].Keys, now.Keys, position), put(past[i].Values, now.Values, position)}
			next = append(next, all)
			return c.attention().Recall(v, x, all, view)
		})
		h = c.feed(layer, h, nil)
	}
	return graph.Reshape(c.leave(v, h, x, nil), rows, c.Width), next
}

// put writes now [R, H, 1, d] at a position of cache [R, H, T, d]. In a loop the engines
// do so in place.
func put(cache, now, position *graph.Node) *graph.Node {
	zero := graph.ScalarZero(cache.Graph(), position.DType())
	return graph.DynamicUpdateSlice(cache, now, []*graph.Node{zero, zero, position, zero})
}

func (c Causal) check() {
	if c.Positions == "relative" {
		panic(fmt.Errorf("nn: a causal stack has positions %q or %q, not %q", "absolute", "none", c.Positions))
	}
}
