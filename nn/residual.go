package nn

import (
	"math/rand/v2"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers/activation"

	"github.com/gritvq/gritvq/weights"
)

// SiLU is x · sigmoid(x).
func SiLU(x *graph.Node) *graph.Node { return activation.Apply(activation.TypeSilu, x) }

// ResidualBlock adds to its input the result of two 3 x 3 convolutions, each
// after GroupNorm and SiLU. If the widths differ, the input passes through a
// 1 x 1 convolution.
type ResidualBlock struct {
	In, Out int
	Groups  int // of the GroupNorms
}

func (r ResidualBlock) norms() [2]GroupNorm {
	return [2]GroupNorm{{Channels: r.In, Groups: r.Groups}, {Channels: r.Out, Groups: r.Groups}}
}

// convs are the two convolutions and the skip. The second starts at zero, so
// that a stack of any depth starts as its skips and gradients reach every block
// undiminished; the first SiLU halves the signal, which the gain makes up for.
func (r ResidualBlock) convs() (first, second, skip Conv) {
	return Conv{In: r.In, Out: r.Out, Kernel: 3, Gain: 2},
		Conv{In: r.Out, Out: r.Out, Kernel: 3, Zero: true},
		Conv{In: r.In, Out: r.Out, Kernel: 1}
}

// Init returns the variables of "norm0", "conv0", "norm1", "conv1" and, where
// the widths differ, "skip".
func (r ResidualBlock) Init(rng *rand.Rand) weights.Set {
	norms := r.norms()
	first, second, skip := r.convs()
	set := weights.Set{}.Merge("norm0", norms[0].Init()).Merge("conv0", first.Init(rng)).
		Merge("norm1", norms[1].Init()).Merge("conv1", second.Init(rng))
	if r.In != r.Out {
		set.Merge("skip", skip.Init(rng))
	}
	return set
}

// Build maps x [B, H, W, In] to [B, H, W, Out].
func (r ResidualBlock) Build(v weights.Vars, x *graph.Node) *graph.Node {
	return within(x, func(x *graph.Node, l layout) *graph.Node { return r.build(v, x, l) })
}

func (r ResidualBlock) build(v weights.Vars, x *graph.Node, l layout) *graph.Node {
	norms := r.norms()
	first, second, skip := r.convs()
	h := first.build(v.In("conv0"), SiLU(norms[0].build(v.In("norm0"), x, l)), l)
	h = second.build(v.In("conv1"), SiLU(norms[1].build(v.In("norm1"), h, l)), l)
	if r.In != r.Out {
		x = skip.build(v.In("skip"), x, l)
	}
	return graph.Add(x, h)
}
