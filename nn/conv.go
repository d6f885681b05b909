package nn

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/weights"
)

// Conv is a two-dimensional convolution with a square kernel and a bias.
type Conv struct {
	In, Out int
	Kernel  int
	Stride  int     // 0 is 1
	Gain    float64 // second moment of output over input at the start; 0 is 1, 2 follows a ReLU
	Zero    bool    // start at zero: the block this convolution ends is the identity at first
}

// Init returns "weights" [kernel, kernel, In, Out] (uniform, scaled to keep the size
// of the signal) and "bias" [Out] (zero).
func (c Conv) Init(rng *rand.Rand) weights.Set {
	limit := math.Sqrt(3 * cmp.Or(c.Gain, 1) / float64(c.Kernel*c.Kernel*c.In))
	if c.Zero {
		limit = 0
	}
	return weights.Set{
		"weights": weights.Uniform(rng, limit, c.Kernel, c.Kernel, c.In, c.Out),
		"bias":    weights.New(c.Out),
	}
}

// Build maps x [B, H, W, In] to [B, H', W', Out] in the precision of x.
func (c Conv) Build(v weights.Vars, x *graph.Node) *graph.Node {
	return c.build(v, x, layout{images: x.Shape().Dim(0), layers: 1})
}

func (c Conv) build(v weights.Vars, x *graph.Node, l layout) *graph.Node {
	o := ConvOptions{Stride: c.Stride, Padding: SamePadding(c.Kernel, 1), layers: l.layers}
	return addBias(Convolve(x, graph.ConvertDType(v.Get("weights"), x.DType()), o), v.Get("bias"), l)
}

// addBias adds bias [C] to every pixel of x [images, H, W, layers · C].
func addBias(x, bias *graph.Node, l layout) *graph.Node {
	channels := bias.Shape().Dim(0)
	bias = graph.BroadcastToDims(graph.ExpandAxes(graph.ConvertDType(bias, x.DType()), 0), l.layers, channels)
	return graph.Add(x, graph.Reshape(bias, 1, 1, 1, l.layers*channels))
}

// Upsample multiplies height and width.
type Upsample struct {
	In, Out int
	Kind    string // one of UpsampleKinds
	Stride  int    // the factor; 0 is 2
}

// UpsampleKinds are the ways to enlarge an image: a transposed convolution whose kernel
// is twice as wide as its stride, or repeating every pixel before a 3 x 3 convolution,
// which cannot draw a checkerboard.
var UpsampleKinds = []string{"transposed", "nearest"}

// Init returns "bias" [Out] and "weights": [2·Stride, 2·Stride, Out, In] of the
// transposed kind or [3, 3, In, Out].
func (u Upsample) Init(rng *rand.Rand) weights.Set {
	set := weights.Set{"bias": weights.New(u.Out)}
	switch taps := 2 * cmp.Or(u.Stride, 2); u.Kind {
	case "transposed": // 2 x 2 of the taps meet an output
		set["weights"] = weights.Uniform(rng, math.Sqrt(3/float64(4*u.In)), taps, taps, u.Out, u.In)
	case "nearest":
		set["weights"] = weights.Uniform(rng, math.Sqrt(3/float64(9*u.In)), 3, 3, u.In, u.Out)
	default:
		panic(fmt.Errorf("nn: no upsampling %q; choose one of %v", u.Kind, UpsampleKinds))
	}
	return set
}

// nearestTaps turns 3 taps on an image repeated stride times into stride + 2 taps of a
// transposed convolution on the image itself: tap r of it, for output stride·y + r - 1,
// sums those of the 3 taps that read source pixel y.
func nearestTaps(stride int) [][]float64 {
	rows := make([][]float64, stride+2)
	for r := range rows {
		rows[r] = make([]float64, 3)
		for i := range 3 {
			if at := r - 2 + i; at >= 0 && at < stride {
				rows[r][i] = 1
			}
		}
	}
	return rows
}

// Build maps x [B, H, W, In] to [B, Stride·H, Stride·W, Out] in the precision of x.
//
// Repeated pixels meet the 3 x 3 kernel in a few ways only, so both kinds are transposed
// convolutions, and the repeated image is never made.
func (u Upsample) Build(v weights.Vars, x *graph.Node) *graph.Node {
	return u.build(v, x, layout{images: x.Shape().Dim(0), layers: 1})
}

func (u Upsample) build(v weights.Vars, x *graph.Node, l layout) *graph.Node {
	kernel, stride := v.Get("weights"), cmp.Or(u.Stride, 2)
	before, after := stride/2, stride-stride/2 // pixels of a transposed kernel beyond the source pixel's own
	if u.Kind == "nearest" {
		taps, wide := graph.ConstAs(kernel, nearestTaps(stride)), stride+2
		kernel = graph.TransposeAllAxes(kernel, 0, 1, 3, 2) // [3, 3, Out, In]
		kernel = graph.Reshape(graph.Dot(taps, graph.Reshape(kernel, 3, -1)).Product(), wide, 3, -1)
		kernel = graph.TransposeAllAxes(kernel, 1, 0, 2)
		kernel = graph.Reshape(graph.Dot(taps, graph.Reshape(kernel, 3, -1)).Product(), wide, wide, -1)
		kernel = graph.Reshape(graph.TransposeAllAxes(kernel, 1, 0, 2), wide, wide, u.Out, u.In)
		before, after = 1, 1
	}
	d := x.Shape().Dimensions
	up := ConvolveTransposed(x, graph.ConvertDType(kernel, x.DType()), stride*d[1], stride*d[2],
		ConvOptions{Stride: stride, Padding: [2][2]int{{before, after}, {before, after}}, layers: l.layers})
	return addBias(up, v.Get("bias"), l)
}
