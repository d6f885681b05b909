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

// ImageGroups is the usual number of groups of a GroupNorm.
const ImageGroups = 8

// ImageEncoder maps pictures to a grid of latents: a 3 x 3 convolution, stages of
// residual blocks with a strided convolution between two stages, then GroupNorm,
// SiLU and a 1 x 1 convolution.
type ImageEncoder struct {
	Channels int   // of the picture; 0 is 3
	Widths   []int // channels of the stages
	Strides  []int // factors between the stages; nil halves the side every time
	Blocks   int   // residual blocks a stage
	Dim      int   // of a latent
	Groups   int   // of the GroupNorms; 0 is 8
	// Linear adds a linear map of every cell's square of pixels to its latent, and the last convolution of the network
	// starts at zero: the encoder starts as that map, which Init leaves at zero for the caller to fill.
	Linear bool

	// DType is the precision of the activations, see InPrecision. Variables are
	// converted where they are used; latents have the picture's precision again.
	DType dtypes.DType
}

// Factor is the size of a picture over that of its grid.
func (e ImageEncoder) Factor() int { return factor(e.Widths, e.Strides) }

// factor is the product of the strides between stages of the given widths.
func factor(widths, strides []int) int {
	product := 1
	for i := range len(widths) - 1 {
		product *= strideAt(strides, i)
	}
	return product
}

// strideAt is the change of size after stage i of an encoder.
func strideAt(strides []int, i int) int {
	if strides == nil {
		return 2
	}
	return strides[i]
}

// linear maps the values of a square to a latent.
func (e ImageEncoder) linear() Conv {
	return Conv{In: e.Factor() * e.Factor() * cmp.Or(e.Channels, 3), Out: e.Dim, Kernel: 1, Zero: true}
}

func (e ImageEncoder) stack() imageStack {
	last := len(e.Widths) - 1
	s := imageStack{
		input:  Conv{In: cmp.Or(e.Channels, 3), Out: e.Widths[0], Kernel: 3},
		blocks: e.Blocks, groups: cmp.Or(e.Groups, ImageGroups),
		output: Conv{In: e.Widths[last], Out: e.Dim, Kernel: 1, Gain: 2, Zero: e.Linear},
	}
	for i, width := range e.Widths {
		stage := imageStage{path: fmt.Sprintf("stage%d", i), width: width}
		if i < last {
			stride := strideAt(e.Strides, i)
			// A kernel as wide as the stride sees every pixel.
			stage.resize, stage.name = Conv{In: width, Out: e.Widths[i+1], Kernel: max(3, stride), Stride: stride}, "down"
		}
		s.stages = append(s.stages, stage)
	}
	return s
}

// Init returns the variables: "input", "stage<i>/block<j>", "stage<i>/down", "norm",
// "output" and, of a linear path, "linear".
func (e ImageEncoder) Init(rng *rand.Rand) weights.Set {
	set := e.stack().init(rng)
	if e.Linear {
		set.Merge("linear", e.linear().Init(rng))
	}
	return set
}

// Build maps x [B, H, W, Channels] to latents [B, H/Factor, W/Factor, Dim].
func (e ImageEncoder) Build(v weights.Vars, x *graph.Node) *graph.Node {
	d := x.Shape().Dimensions
	if len(d) != 4 || d[1]%e.Factor() != 0 || d[2]%e.Factor() != 0 {
		panic(fmt.Errorf("nn: pictures of shape %v have no grid of cells; their sides must be multiples of %d", d[1:], e.Factor()))
	}
	s := e.stack()
	h := s.input.Build(v.In("input"), InPrecision(x, e.DType))
	l := layoutFor(h)
	z := graph.ConvertDType(s.build(v, l.enter(h), l), x.DType())
	if e.Linear {
		z = graph.Add(z, e.linear().Build(v.In("linear"), Patches(x, e.Factor())))
	}
	return z
}

// ImageDecoder maps a grid of latents to pictures: the stages of an [ImageEncoder] with
// the same Widths in reverse, upsampling between them.
type ImageDecoder struct {
	Channels int    // of the picture; 0 is 3
	Widths   []int  // channels of the stages, in the encoder's order
	Strides  []int  // factors between the stages, in the encoder's order; nil doubles the side every time
	Blocks   int    // residual blocks a stage
	Dim      int    // of a latent
	Groups   int    // of the GroupNorms; 0 is 8
	Up       string // one of UpsampleKinds
	// Linear adds a linear map of the latents of a cell and the eight around it to its square of pixels, as in
	// ImageEncoder.
	Linear bool

	DType dtypes.DType // precision of the activations, as in ImageEncoder
}

// linear maps 3 x 3 latents to the values of a square.
func (d ImageDecoder) linear() Conv {
	side := factor(d.Widths, d.Strides)
	return Conv{In: d.Dim, Out: side * side * cmp.Or(d.Channels, 3), Kernel: 3, Zero: true}
}

func (d ImageDecoder) stack() imageStack {
	s := imageStack{
		input:  Conv{In: d.Dim, Out: d.Widths[len(d.Widths)-1], Kernel: 3},
		blocks: d.Blocks, groups: cmp.Or(d.Groups, ImageGroups),
		output: Conv{In: d.Widths[0], Out: cmp.Or(d.Channels, 3), Kernel: 3, Gain: 2, Zero: d.Linear},
	}
	for i, width := range slices.Backward(d.Widths) {
		stage := imageStage{path: fmt.Sprintf("stage%d", i), width: width}
		if i > 0 {
			stage.resize, stage.name = Upsample{In: width, Out: d.Widths[i-1], Kind: d.Up, Stride: strideAt(d.Strides, i-1)}, "up"
		}
		s.stages = append(s.stages, stage)
	}
	return s
}

// Init returns the variables: "input", "stage<i>/block<j>", "stage<i>/up", "norm",
// "output" and, of a linear path, "linear", stages numbered as in the encoder.
func (d ImageDecoder) Init(rng *rand.Rand) weights.Set {
	set := d.stack().init(rng)
	if d.Linear {
		set.Merge("linear", d.linear().Init(rng))
	}
	return set
}

// Build maps latents z [B, h, w, Dim] to pictures [B, h·f, w·f, Channels], where f is
// the encoder's Factor.
func (d ImageDecoder) Build(v weights.Vars, z *graph.Node) *graph.Node {
	s, l := d.stack(), layoutFor(z)
	h := s.input.build(v.In("input"), l.enter(InPrecision(z, d.DType)), l)
	x := graph.ConvertDType(s.build(v, h, l), z.DType())
	if d.Linear {
		x = graph.Add(x, Unpatched(d.linear().Build(v.In("linear"), z), factor(d.Widths, d.Strides)))
	}
	return x
}
