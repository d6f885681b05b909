package nn

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/weights"
)

// ImageEncoder maps pictures to a grid of latents: a 3 x 3 convolution, stages of
// residual blocks with a stride-2 convolution between two stages, then GroupNorm,
// SiLU and a 1 x 1 convolution.
type ImageEncoder struct {
	Channels int   // of the picture; 0 is 3
	Widths   []int // channels of the stages
	Blocks   int   // residual blocks a stage
	Dim      int   // of a latent
	Groups   int   // of the GroupNorms; 0 is 8

	// DType is the precision of the activations, see InPrecision. Variables are
	// converted where they are used; latents have the picture's precision again.
	DType dtypes.DType
}

// Factor is the size of a picture over that of its grid.
func (e ImageEncoder) Factor() int { return 1 << (len(e.Widths) - 1) }

func (e ImageEncoder) stack() imageStack {
	last := len(e.Widths) - 1
	s := imageStack{
		input:  Conv{In: cmp.Or(e.Channels, 3), Out: e.Widths[0], Kernel: 3},
		blocks: e.Blocks, groups: cmp.Or(e.Groups, 8),
		output: Conv{In: e.Widths[last], Out: e.Dim, Kernel: 1, Gain: 2},
	}
	for i, width := range e.Widths {
		stage := imageStage{path: fmt.Sprintf("stage%d", i), width: width}
		if i < last {
			stage.resize, stage.name = Conv{In: width, Out: e.Widths[i+1], Kernel: 3, Stride: 2}, "down"
		}
		s.stages = append(s.stages, stage)
	}
	return s
}

// Init returns the variables: "input", "stage<i>/block<j>", "stage<i>/down", "norm" and
// "output".
func (e ImageEncoder) Init(rng *rand.Rand) weights.Set { return e.stack().init(rng) }

// Build maps x [B, H, W, Channels] to latents [B, H/Factor, W/Factor, Dim].
func (e ImageEncoder) Build(v weights.Vars, x *graph.Node) *graph.Node {
	d := x.Shape().Dimensions
	if len(d) != 4 || d[1]%e.Factor() != 0 || d[2]%e.Factor() != 0 {
		panic(fmt.Errorf("nn: pictures of shape %v cannot be halved %d times; their sides must be multiples of %d",
			d[1:], len(e.Widths)-1, e.Factor()))
	}
	s := e.stack()
	h := s.input.Build(v.In("input"), InPrecision(x, e.DType))
	l := layoutFor(h)
	return graph.ConvertDType(s.build(v, l.enter(h), l), x.DType())
}

// ImageDecoder maps a grid of latents to pictures: the stages of an [ImageEncoder] with
// the same Widths in reverse, upsampling between them.
type ImageDecoder struct {
	Channels int    // of the picture; 0 is 3
	Widths   []int  // channels of the stages, in the encoder's order
	Blocks   int    // residual blocks a stage
	Dim      int    // of a latent
	Groups   int    // of the GroupNorms; 0 is 8
	Up       string // one of UpsampleKinds

	DType dtypes.DType // precision of the activations, as in ImageEncoder
}

func (d ImageDecoder) stack() imageStack {
	s := imageStack{
		input:  Conv{In: d.Dim, Out: d.Widths[len(d.Widths)-1], Kernel: 3},
		blocks: d.Blocks, groups: cmp.Or(d.Groups, 8),
		output: Conv{In: d.Widths[0], Out: cmp.Or(d.Channels, 3), Kernel: 3, Gain: 2},
	}
	for i, width := range slices.Backward(d.Widths) {
		stage := imageStage{path: fmt.Sprintf("stage%d", i), width: width}
		if i > 0 {
			stage.resize, stage.name = Upsample{In: width, Out: d.Widths[i-1], Kind: d.Up}, "up"
		}
		s.stages = append(s.stages, stage)
	}
	return s
}

// Init returns the variables: "input", "stage<i>/block<j>", "stage<i>/up", "norm" and
// "output", stages numbered as in the encoder.
func (d ImageDecoder) Init(rng *rand.Rand) weights.Set { return d.stack().init(rng) }

// Build maps latents z [B, h, w, Dim] to pictures [B, h·f, w·f, Channels] with
// f = 2^(len(Widths)-1).
func (d ImageDecoder) Build(v weights.Vars, z *graph.Node) *graph.Node {
	s, l := d.stack(), layoutFor(z)
	h := s.input.build(v.In("input"), l.enter(InPrecision(z, d.DType)), l)
	return graph.ConvertDType(s.build(v, h, l), z.DType())
}
