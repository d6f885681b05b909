package nn

import (
	"fmt"
	"math/rand/v2"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers/activation"
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
