package nn

import (
	"fmt"
	"math/rand/v2"

	"github.com/gomlx/compute"
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

// CacheDims are the dimensions of the keys and of the values that Step caches, for rows
// sequences of at most length vectors: [rows, Heads, length, HeadDim] or, where the
// embedded engine takes all heads together, [rows, 1, length, Heads·HeadDim].
func (c Causal) CacheDims(backend compute.Backend, rows, length int) []int {
	if !weights.Compiles(backend) && c.attention().together(rows, max(length, c.Length)) {
		return []int{rows, 1, length, c.Heads * c.HeadDim}
	}
	return []int{rows, c.Heads, length, c.HeadDim}
}

// StepRows is the number of sequences, at most the given one, with which Step has the
// most throughput on the embedded engine.
func (c Causal) StepRows(most int) int {
	rows := most
	for rows > kernelRows && !c.attention().together(rows, c.Length) {
		rows -= kernelRows
	}
	if 2*rows >= most {
		return rows
	}
	// Too few for the products with matrices: heads stay separate.
	return min(most, max(kernelRows, (smallProduct-1)/max(1, c.Length*c.attention().inner())/kernelRows*kernelRows))
}

// Empty is the cache of Step before the first place: zeros, in the precision that x
// enters the stack with.
func (c Causal) Empty(x *graph.Node, rows, length int) []KeyValues {
	all := make([]KeyValues, c.Layers)
	shape := shapes.Make(InPrecision(x, c.DType).DType(), c.CacheDims(x.Graph().Backend(), rows, length)...)
	for i := range all {
		all[i] = KeyValues{graph.Zeros(x.Graph(), shape), graph.Zeros(x.Graph(), shape)}
	}
	return all
}

// Step is Build for the vector of each sequence at one position (int32, a scalar):
// x [R, Width] to [R, Width]. Past, as next of the step before or Empty, has a fixed
// length above the position; next is past with the keys and values of this position.
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
	view := NewView(h, [4]int{1, 1, 1, length}, Mask{Lengths: graph.AddScalar(graph.Reshape(position, 1), 1)}, nil)
	recall := c.attention().Recall
	if past[0].Keys.Shape().Dim(1) < c.Heads {
		recall = c.attention().recallTogether
	}
	for i := range c.Layers {
		layer := v.In("layer%d", i)
		h = c.add(layer, "self", h, nil, func(v weights.Vars, x *graph.Node) *graph.Node {
			all := KeyValues{put(past[i].Keys, linear(x, v.Get("key")), position), put(past[i].Values, linear(x, v.Get("value")), position)}
			next = append(next, all)
			return recall(v, x, all, view)
		})
		h = c.feed(layer, h, nil)
	}
	return graph.Reshape(c.leave(v, h, x, nil), rows, c.Width), next
}

// put writes now [R, 1, Heads·HeadDim] at a position of a cache. In a loop, and with
// donated caches, engines do so in place.
func put(cache, now, position *graph.Node) *graph.Node {
	d := cache.Shape().Dimensions
	zero := graph.ScalarZero(cache.Graph(), position.DType())
	return graph.DynamicUpdateSlice(cache, graph.Reshape(now, d[0], d[1], 1, d[3]), []*graph.Node{zero, zero, position, zero})
}

func (c Causal) check() {
	if c.Positions == "relative" {
		panic(fmt.Errorf("nn: a causal stack has positions %q or %q, not %q", "absolute", "none", c.Positions))
	}
}
