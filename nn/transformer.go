package nn

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/weights"
)

// PositionKinds lists the values of Transformer.Positions.
var PositionKinds = []string{"relative", "absolute", "none"}

// Transformer is the common part of Encoder and Decoder: residual blocks of attention
// and feed-forward networks, each after a norm, and a norm at the end.
type Transformer struct {
	Layers, Width  int
	Heads, HeadDim int
	FeedForward    int     // hidden width of the feed-forward networks
	Activation     string  // of these, one of Activations
	Norm           string  // one of Norms
	Dropout        float64 // of the input, of every residual and of the output; also within the parts

	// Positions is "relative" (RelativePositions that all layers share), "absolute" (a
	// learned vector for each of Length places) or "none".
	Positions         string
	Length            int
	Buckets, Distance int // of relative positions

	// DType is the precision of the activations, see InPrecision. Norms and softmax
	// stay in float32; the output has the precision of the input again.
	DType dtypes.DType
}

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

func (t Transformer) attention() Attention {
	return Attention{Width: t.Width, Heads: t.Heads, HeadDim: t.HeadDim, Dropout: t.Dropout}
}

func (t Transformer) feedForward() FeedForward {
	return FeedForward{Width: t.Width, Hidden: t.FeedForward, Activation: t.Activation, Dropout: t.Dropout}
}

func (t Transformer) norm() LayerNorm { return LayerNorm{Width: t.Width, Kind: t.Norm} }

func (t Transformer) places() Embedding { return Embedding{Rows: t.Length, Width: t.Width} }

func (t Transformer) relative(causal bool) RelativePositions {
	return RelativePositions{Heads: t.Heads, Buckets: t.Buckets, Distance: t.Distance, Causal: causal, Scale: 1 / math.Sqrt(float64(t.Width))}
}

func (t Transformer) init(rng *rand.Rand, decoder bool) weights.Set {
	set := weights.Set{}
	parts := []string{"self", "feed"}
	if decoder {
		parts = []string{"self", "cross", "feed"}
	}
	for i := range t.Layers {
		for _, part := range parts {
			path := fmt.Sprintf("layer%d/%s", i, part)
			if part == "feed" {
				set.Merge(path, t.feedForward().Init(rng))
			} else {
				set.Merge(path, t.attention().Init(rng))
			}
			set.Merge(path+"_norm", t.norm().Init())
		}
	}
	switch t.Positions {
	case "relative":
		set.Merge("positions", t.relative(decoder).Init(rng))
	case "absolute":
		set.Merge("positions", t.places().Init(rng))
	}
	return set.Merge("norm", t.norm().Init())
}

// enter adds absolute positions to x [B, T, Width], at the places from first on, and
// converts it to the stack's precision.
func (t Transformer) enter(v weights.Vars, x *graph.Node, first int) *graph.Node {
	count := x.Shape().Dim(1)
	if t.Positions == "absolute" {
		if first+count > t.Length {
			panic(fmt.Errorf("nn: a sequence of %d vectors is longer than the %d positions of the model", first+count, t.Length))
		}
		places := t.places().Range(v.In("positions"), first, first+count)
		x = graph.Add(x, graph.ExpandAxes(graph.ConvertDType(places, x.DType()), 0))
	}
	return InPrecision(x, t.DType)
}

func (t Transformer) leave(v weights.Vars, h, input *graph.Node, random *Random) *graph.Node {
	h = random.Dropout(t.norm().Build(v.In("norm"), h), t.Dropout, 1)
	return graph.ConvertDType(h, input.DType())
}

// bias is the bias of scores [1, Heads, queries, keys], or nil.
func (t Transformer) bias(v weights.Vars, g *graph.Graph, queries, keys int, causal bool) *graph.Node {
	if t.Positions != "relative" {
		return nil
	}
	return t.relative(causal).Build(v.In("positions"), g, queries, keys)
}

// add adds a part's residual, computed after its norm, to h.
func (t Transformer) add(layer weights.Vars, part string, h *graph.Node, random *Random,
	build func(v weights.Vars, x *graph.Node) *graph.Node) *graph.Node {
	change := build(layer.In("%s", part), t.norm().Build(layer.In("%s_norm", part), h))
	return graph.Add(h, random.Dropout(change, t.Dropout, 1))
}

func (t Transformer) feed(layer weights.Vars, h *graph.Node, random *Random) *graph.Node {
	return t.add(layer, "feed", h, random, func(v weights.Vars, x *graph.Node) *graph.Node {
		return t.feedForward().Build(v, x, random)
	})
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
