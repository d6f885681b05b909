package nn

import (
	"fmt"
	"math/rand/v2"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers/activation"

	"github.com/gritvq/gritvq/weights"
)

// imageStack holds the blocks of an encoder or a decoder in their order.
type imageStack struct {
	input          Conv
	stages         []imageStage
	blocks, groups int
	output         Conv // after GroupNorm and SiLU
}

// imageStage is a number of residual blocks and the change of size after them.
type imageStage struct {
	path   string
	width  int
	name   string // of resize
	resize interface {
		Init(rng *rand.Rand) weights.Set
		build(v weights.Vars, x *graph.Node, l layout) *graph.Node
	} // nil after the last stage
}

func (s imageStack) block(stage imageStage) ResidualBlock {
	return ResidualBlock{In: stage.width, Out: stage.width, Groups: s.groups}
}

func (s imageStack) norm() GroupNorm { return GroupNorm{Channels: s.output.In, Groups: s.groups} }

func (s imageStack) init(rng *rand.Rand) weights.Set {
	set := weights.Set{}.Merge("input", s.input.Init(rng))
	for _, stage := range s.stages {
		for block := range s.blocks {
			set.Merge(fmt.Sprintf("%s/block%d", stage.path, block), s.block(stage).Init(rng))
		}
		if stage.resize != nil {
			set.Merge(stage.path+"/"+stage.name, stage.resize.Init(rng))
		}
	}
	return set.Merge("norm", s.norm().Init()).Merge("output", s.output.Init(rng))
}

// build maps the result of the input convolution, in the layout, to [B, H, W, Out].
func (s imageStack) build(v weights.Vars, h *graph.Node, l layout) *graph.Node {
	for _, stage := range s.stages {
		for block := range s.blocks {
			h = s.block(stage).build(v.In("%s/block%d", stage.path, block), h, l)
		}
		if stage.resize != nil {
			h = stage.resize.build(v.In("%s/%s", stage.path, stage.name), h, l)
		}
	}
	return l.leave(s.output.build(v.In("output"), SiLU(s.norm().build(v.In("norm"), h, l)), l))
}

// SiLU is x · sigmoid(x).
func SiLU(x *graph.Node) *graph.Node { return activation.Apply(activation.TypeSilu, x) }

// ResidualBlock adds two 3 x 3 convolutions, each after GroupNorm and SiLU, to its
// input, which passes through a 1 x 1 convolution if the widths differ.
type ResidualBlock struct {
	In, Out int
	Groups  int // of the GroupNorms
}

func (r ResidualBlock) norms() [2]GroupNorm {
	return [2]GroupNorm{{Channels: r.In, Groups: r.Groups}, {Channels: r.Out, Groups: r.Groups}}
}

// convs are the two convolutions and the skip. The second starts at zero: a stack of
// any depth starts as its skips, and gradients reach every block undiminished. The
// gain makes up for the SiLU, which halves the signal.
func (r ResidualBlock) convs() (first, second, skip Conv) {
	return Conv{In: r.In, Out: r.Out, Kernel: 3, Gain: 2},
		Conv{In: r.Out, Out: r.Out, Kernel: 3, Zero: true},
		Conv{In: r.In, Out: r.Out, Kernel: 1}
}

// Init returns the variables of "norm0", "conv0", "norm1", "conv1" and, where the
// widths differ, "skip".
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
