package nn

import (
	"fmt"
	"math/rand/v2"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/weights"
)

// ImageEncoder maps pictures to a grid of latents: a 3 x 3 convolution, then
// stages of residual blocks with a stride-2 convolution between two stages, and
// GroupNorm, SiLU and a 1 x 1 convolution to the latents.
type ImageEncoder struct {
	Channels int   // of the picture; 0 is 3
	Widths   []int // channels of the stages
	Blocks   int   // residual blocks a stage
	Dim      int   // of a latent
	Groups   int   // of the GroupNorms; 0 is 8

	// DType is the precision of the activations, see InPrecision. The variables stay as they are and are converted
	// where they are used; the latents have the picture's precision again.
	DType dtypes.DType
}

func (e ImageEncoder) channels() int { return orDefault(e.Channels, 3) }
func (e ImageEncoder) groups() int   { return orDefault(e.Groups, 8) }

// Factor is the size of a picture over that of its grid.
func (e ImageEncoder) Factor() int { return 1 << (len(e.Widths) - 1) }

func (e ImageEncoder) input() Conv {
	return Conv{In: e.channels(), Out: e.Widths[0], Kernel: 3}
}

func (e ImageEncoder) block(stage int) ResidualBlock {
	return ResidualBlock{In: e.Widths[stage], Out: e.Widths[stage], Groups: e.groups()}
}

func (e ImageEncoder) down(stage int) Conv {
	return Conv{In: e.Widths[stage], Out: e.Widths[stage+1], Kernel: 3, Stride: 2}
}

func (e ImageEncoder) output() (GroupNorm, Conv) {
	last := e.Widths[len(e.Widths)-1]
	return GroupNorm{Channels: last, Groups: e.groups()}, Conv{In: last, Out: e.Dim, Kernel: 1, Gain: 2}
}

// Init returns the variables: "input", "stage<i>/block<j>", "stage<i>/down",
// "norm" and "output".
func (e ImageEncoder) Init(rng *rand.Rand) weights.Set {
	set := weights.Set{}.Merge("input", e.input().Init(rng))
	for stage := range e.Widths {
		for block := range e.Blocks {
			set.Merge(fmt.Sprintf("stage%d/block%d", stage, block), e.block(stage).Init(rng))
		}
		if stage < len(e.Widths)-1 {
			set.Merge(fmt.Sprintf("stage%d/down", stage), e.down(stage).Init(rng))
		}
	}
	norm, output := e.output()
	return set.Merge("norm", norm.Init()).Merge("output", output.Init(rng))
}

// Build maps x [B, H, W, Channels] to latents [B, H/Factor, W/Factor, Dim].
func (e ImageEncoder) Build(v weights.Vars, x *graph.Node) *graph.Node {
	d := x.Shape().Dimensions
	if len(d) != 4 || d[1]%e.Factor() != 0 || d[2]%e.Factor() != 0 {
		panic(fmt.Errorf("nn: pictures of shape %v cannot be halved %d times; their sides must be multiples of %d",
			d[1:], len(e.Widths)-1, e.Factor()))
	}
	h := e.input().Build(v.In("input"), InPrecision(x, e.DType))
	l := layoutFor(h)
	h = l.enter(h)
	for stage := range e.Widths {
		for block := range e.Blocks {
			h = e.block(stage).build(v.In("stage%d/block%d", stage, block), h, l)
		}
		if stage < len(e.Widths)-1 {
			h = e.down(stage).build(v.In("stage%d/down", stage), h, l)
		}
	}
	norm, output := e.output()
	h = output.build(v.In("output"), SiLU(norm.build(v.In("norm"), h, l)), l)
	return graph.ConvertDType(l.leave(h), x.DType())
}

func orDefault(value, otherwise int) int {
	if value == 0 {
		return otherwise
	}
	return value
}
