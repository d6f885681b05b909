package nn

import (
	"math/rand/v2"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/weights"
)

// Encoder is a Transformer whose vectors see all of their sequence.
type Encoder struct{ Transformer }

// Init returns the variables of "layer<i>/self", "layer<i>/self_norm", "layer<i>/feed",
// "layer<i>/feed_norm", "norm" and, if there are any, "positions".
func (e Encoder) Init(rng *rand.Rand) weights.Set { return e.init(rng, false) }

// Build maps x [B, S, Width] to [B, S, Width]. Lengths [B] (int32), unless nil, are the
// vectors of each sequence; the results of the padding after them have no meaning.
func (e Encoder) Build(v weights.Vars, x, lengths *graph.Node, random *Random) *graph.Node {
	length := x.Shape().Dim(1)
	h := random.Dropout(e.enter(v, x, 0), e.Dropout, 1)
	view := e.attention().View(h, h, Mask{Lengths: lengths}, e.bias(v, x.Graph(), length, length, false))
	for i := range e.Layers {
		layer := v.In("layer%d", i)
		h = e.add(layer, "self", h, random, func(v weights.Vars, x *graph.Node) *graph.Node {
			return e.attention().Build(v, x, x, view, random)
		})
		h = e.feed(layer, h, random)
	}
	return e.leave(v, h, x, random)
}

// Decoder is a Transformer whose vectors see those before them and all of a second
// sequence, the memory.
type Decoder struct{ Transformer }

// Init returns the variables of an Encoder and, in every layer, of "cross" and
// "cross_norm".
func (d Decoder) Init(rng *rand.Rand) weights.Set { return d.init(rng, true) }

// Build maps x [B, T, Width] to [B, T, Width], given the memory [B, S, Width] and its
// lengths [B] (int32, or nil).
func (d Decoder) Build(v weights.Vars, x, memory, lengths *graph.Node, random *Random) *graph.Node {
	count := x.Shape().Dim(1)
	memory = InPrecision(memory, d.DType)
	h := random.Dropout(d.enter(v, x, 0), d.Dropout, 1)
	self := d.attention().View(h, h, Mask{Causal: true}, d.bias(v, x.Graph(), count, count, true))
	cross := d.attention().View(h, memory, Mask{Lengths: lengths}, nil)
	for i := range d.Layers {
		layer := v.In("layer%d", i)
		h = d.add(layer, "self", h, random, func(v weights.Vars, x *graph.Node) *graph.Node {
			return d.attention().Build(v, x, x, self, random)
		})
		h = d.add(layer, "cross", h, random, func(v weights.Vars, x *graph.Node) *graph.Node {
			return d.attention().Build(v, x, memory, cross, random)
		})
		h = d.feed(layer, h, random)
	}
	return d.leave(v, h, x, random)
}

// Remember computes the keys and values of the memory [B, S, Width] for all layers.
func (d Decoder) Remember(v weights.Vars, memory *graph.Node) []KeyValues {
	memory = InPrecision(memory, d.DType)
	all := make([]KeyValues, d.Layers)
	for i := range all {
		all[i] = d.attention().Remember(v.In("layer%d/cross", i), memory, nil)
	}
	return all
}

// Step is Build for one more vector of each sequence: x [R, Width] to [R, Width]. Past
// is next of the step before, nil at the first. A memory serves R/B consecutive
// sequences.
func (d Decoder) Step(v weights.Vars, x *graph.Node, past, memory []KeyValues, lengths *graph.Node) (y *graph.Node, next []KeyValues) {
	rows, done := x.Shape().Dim(0), 0
	batch, places := memory[0].Keys.Shape().Dim(0), memory[0].Keys.Shape().Dim(2)
	if past != nil {
		done = past[0].Keys.Shape().Dim(2)
	}
	h := d.enter(v, graph.ExpandAxes(x, 1), done) // [R, 1, Width]
	self := NewView(h, [4]int{rows, d.Heads, 1, done + 1}, Mask{}, d.bias(v, x.Graph(), 1, done+1, true))
	cross := NewView(h, [4]int{batch, d.Heads, rows / batch, places}, Mask{Lengths: lengths}, nil)
	for i := range d.Layers {
		layer := v.In("layer%d", i)
		h = d.add(layer, "self", h, nil, func(v weights.Vars, x *graph.Node) *graph.Node {
			all := d.attention().Remember(v, x, nil)
			if past != nil {
				all.Keys = graph.Concatenate([]*graph.Node{past[i].Keys, all.Keys}, 2)
				all.Values = graph.Concatenate([]*graph.Node{past[i].Values, all.Values}, 2)
			}
			next = append(next, all)
			return d.attention().Recall(v, x, all, self)
		})
		h = d.add(layer, "cross", h, nil, func(v weights.Vars, x *graph.Node) *graph.Node {
			together := graph.Reshape(x, batch, rows/batch, d.Width)
			return graph.Reshape(d.attention().Recall(v, together, memory[i], cross), rows, 1, d.Width)
		})
		h = d.feed(layer, h, nil)
	}
	return graph.Reshape(d.leave(v, h, x, nil), rows, d.Width), next
}
