package nn

import (
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/weights"
)

// Conv is a two-dimensional convolution with a square kernel and a bias.
type Conv struct {
	In, Out  int
	Kernel   int
	Stride   int        // 0 is 1
	Dilation int        // 0 is 1
	Groups   int        // 0 is 1; In groups of one channel make it depthwise
	Padding  *[2][2]int // zeros before and after the rows, and the columns; nil is SamePadding
	Gain     float64    // second moment of output over input at the start; 0 is 1, 2 precedes a ReLU
	Zero     bool       // start at zero: the block this convolution ends is the identity at first
}

func (c Conv) options() ConvOptions {
	o := ConvOptions{Stride: c.Stride, Dilation: c.Dilation, Groups: c.Groups, Padding: SamePadding(c.Kernel, c.Dilation)}
	if c.Padding != nil {
		o.Padding = *c.Padding
	}
	return o
}

// Init returns "weights" [kernel, kernel, In/Groups, Out] (uniform, scaled so
// that the signal keeps its size) and "bias" [Out] (zero).
func (c Conv) Init(rng *rand.Rand) weights.Set {
	in := c.In / max(1, c.Groups)
	gain := c.Gain
	if gain == 0 {
		gain = 1
	}
	limit := math.Sqrt(3 * gain / float64(c.Kernel*c.Kernel*in))
	if c.Zero {
		limit = 0
	}
	return weights.Set{
		"weights": weights.Uniform(rng, limit, c.Kernel, c.Kernel, in, c.Out),
		"bias":    weights.New(c.Out),
	}
}

// Build maps x [B, H, W, In] to [B, H', W', Out] in the precision of x.
func (c Conv) Build(v weights.Vars, x *graph.Node) *graph.Node {
	return c.build(v, x, layout{images: x.Shape().Dim(0), layers: 1})
}

func (c Conv) build(v weights.Vars, x *graph.Node, l layout) *graph.Node {
	o := c.options()
	o.layers = l.layers
	return addBias(Convolve(x, graph.ConvertDType(v.Get("weights"), x.DType()), o), v.Get("bias"), l)
}

// addBias adds bias [C] to every pixel of x [images, H, W, layers · C].
func addBias(x, bias *graph.Node, l layout) *graph.Node {
	channels := bias.Shape().Dim(0)
	bias = graph.BroadcastToDims(graph.ExpandAxes(graph.ConvertDType(bias, x.DType()), 0), l.layers, channels)
	return graph.Add(x, graph.Reshape(bias, 1, 1, 1, l.layers*channels))
}
