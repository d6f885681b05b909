package nn

import (
	"fmt"
	"math/rand/v2"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/weights"
)

// ImageDecoder maps a grid of latents to pictures: the stages of an
// [ImageEncoder] with the same Widths in reverse, upsampling between them.
type ImageDecoder struct {
	Channels int    // of the picture; 0 is 3
	Widths   []int  // channels of the stages, in the encoder's order
	Blocks   int    // residual blocks a stage
	Dim      int    // of a latent
	Groups   int    // of the GroupNorms; 0 is 8
	Up       string // one of UpsampleKinds

	DType dtypes.DType // precision of the activations, as in ImageEncoder
}

func (d ImageDecoder) channels() int { return orDefault(d.Channels, 3) }
func (d ImageDecoder) groups() int   { return orDefault(d.Groups, 8) }

func (d ImageDecoder) input() Conv {
	return Conv{In: d.Dim, Out: d.Widths[len(d.Widths)-1], Kernel: 3}
}

func (d ImageDecoder) block(stage int) ResidualBlock {
	return ResidualBlock{In: d.Widths[stage], Out: d.Widths[stage], Groups: d.groups()}
}

func (d ImageDecoder) up(stage int) Upsample {
	return Upsample{In: d.Widths[stage], Out: d.Widths[stage-1], Kind: d.Up}
}

func (d ImageDecoder) output() (GroupNorm, Conv) {
	return GroupNorm{Channels: d.Widths[0], Groups: d.groups()}, Conv{In: d.Widths[0], Out: d.channels(), Kernel: 3, Gain: 2}
}

// Init returns the variables: "input", "stage<i>/block<j>", "stage<i>/up",
// "norm" and "output", stages numbered as in the encoder.
func (d ImageDecoder) Init(rng *rand.Rand) weights.Set {
	set := weights.Set{}.Merge("input", d.input().Init(rng))
	for stage := len(d.Widths) - 1; stage >= 0; stage-- {
		for block := range d.Blocks {
			set.Merge(fmt.Sprintf("stage%d/block%d", stage, block), d.block(stage).Init(rng))
		}
		if stage > 0 {
			set.Merge(fmt.Sprintf("stage%d/up", stage), d.up(stage).Init(rng))
		}
	}
	norm, output := d.output()
	return set.Merge("norm", norm.Init()).Merge("output", output.Init(rng))
}

// Build maps latents z [B, h, w, Dim] to pictures [B, h·f, w·f, Channels] with
// f = 2^(len(Widths)-1).
func (d ImageDecoder) Build(v weights.Vars, z *graph.Node) *graph.Node {
	l := layoutFor(z)
	h := d.input().build(v.In("input"), l.enter(InPrecision(z, d.DType)), l)
	for stage := len(d.Widths) - 1; stage >= 0; stage-- {
		for block := range d.Blocks {
			h = d.block(stage).build(v.In("stage%d/block%d", stage, block), h, l)
		}
		if stage > 0 {
			h = d.up(stage).build(v.In("stage%d/up", stage), h, l)
		}
	}
	norm, output := d.output()
	h = output.build(v.In("output"), SiLU(norm.build(v.In("norm"), h, l)), l)
	return graph.ConvertDType(l.leave(h), z.DType())
}
