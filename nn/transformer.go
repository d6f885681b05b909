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
		if i == 0 {
			set.Need(fmt.Sprintf("a transformer of %d layers", t.Layers), t.Layers)
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
