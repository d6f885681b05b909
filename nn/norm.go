package nn

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/weights"
)

// GroupNorm gives every group of channels of an image zero mean and unit variance, then
// scales and shifts every channel (Wu and He, 2018).
type GroupNorm struct {
	Channels int
	Groups   int // wanted; the largest common divisor with Channels is used
}

// The epsilons keep constant groups and zero vectors from division by zero.
const (
	GroupNormEpsilon = 1e-5
	LayerNormEpsilon = 1e-6
)

// Count is the number of groups in use.
func (n GroupNorm) Count() int { return commonDivisor(n.Channels, max(1, n.Groups)) }

// Init returns "scale" (ones) and "bias" (zero), both [Channels].
func (n GroupNorm) Init() weights.Set {
	return weights.Set{"scale": weights.Full(1, n.Channels), "bias": weights.New(n.Channels)}
}

// Build normalizes x [B, H, W, Channels], with statistics in float32 or better.
//
// Value and gradient of x are linear in x and the adjoint with one coefficient per
// image and channel: all but two sums and one combination is done on [B, Channels].
func (n GroupNorm) Build(v weights.Vars, x *graph.Node) *graph.Node {
	return within(x, func(x *graph.Node, l layout) *graph.Node { return n.build(v, x, l) })
}

func (n GroupNorm) build(v weights.Vars, x *graph.Node, l layout) *graph.Node {
	scale, bias := v.Get("scale"), v.Get("bias")
	s := n.statistics(x, l)
	gain := graph.Mul(s.deviation, s.convert(scale)) // [B, C]
	shift := graph.Sub(s.convert(bias), graph.Mul(s.mean, gain))
	value := s.combine(shift, x, gain)
	return withGradients(value, []*graph.Node{x, scale, bias}, func(adjoint *graph.Node) []*graph.Node {
		sum := s.sum(s.pixels(adjoint))                                                         // Σ v over the pixels
		withX := s.sum(graph.Mul(s.pixels(adjoint), s.pixels(x)))                               // Σ v x
		normalized := graph.Mul(s.deviation, graph.Sub(withX, graph.Mul(s.mean, sum)))          // Σ v x̂
		meanV := s.groupMean(graph.Mul(sum, s.convert(scale)))                                  // of v scale
		meanVX := s.groupMean(graph.Mul(normalized, s.convert(scale)))                          // of v scale x̂
		slope := graph.Neg(graph.Mul(meanVX, graph.Mul(s.deviation, s.deviation)))              // of x
		offset := graph.Neg(graph.Add(graph.Mul(meanV, s.deviation), graph.Mul(s.mean, slope))) // the rest
		return []*graph.Node{
			s.combine(offset, x, slope, adjoint, gain),
			graph.ConvertDType(graph.ReduceSum(normalized, 0), scale.DType()),
			graph.ConvertDType(graph.ReduceSum(sum, 0), bias.DType()),
		}
	})
}

type groupStatistics struct {
	layout
	size             int // pixels of an image
	groups, channels int
	image            dtypes.DType // of x
	dtype            dtypes.DType // of the statistics
	mean             *graph.Node  // [B, C]
	deviation        *graph.Node  // 1/√(variance + ε), [B, C]
}

func (n GroupNorm) statistics(x *graph.Node, l layout) *groupStatistics {
	s := &groupStatistics{layout: l, size: x.Shape().Dim(1) * x.Shape().Dim(2), channels: n.Channels,
		groups: n.Count(), image: x.DType(), dtype: inFull(x).DType()}
	p := s.pixels(x)
	s.mean = s.groupMean(s.sum(p))
	square := s.groupMean(s.sum(graph.Mul(p, p)))
	// Rounding may leave a constant group a variance below zero.
	variance := graph.MaxScalar(graph.Sub(square, graph.Mul(s.mean, s.mean)), 0)
	s.deviation = graph.Reciprocal(graph.Sqrt(graph.AddScalar(variance, GroupNormEpsilon)))
	return s
}

func (s *groupStatistics) batch() int { return s.images * s.layers }

func (s *groupStatistics) convert(x *graph.Node) *graph.Node {
	x = graph.ConvertDType(x, s.dtype)
	if x.Rank() == 1 {
		x = graph.ExpandAxes(x, 0)
	}
	return x
}

func (s *groupStatistics) pixels(x *graph.Node) *graph.Node { return graph.ConvertDType(x, s.dtype) }

// sum adds up the pixels of x [images, H, W, layers · C]: [B, C].
func (s *groupStatistics) sum(x *graph.Node) *graph.Node {
	axes := []int{1, 2}
	if s.images == 1 { // leading axes alone, which the engine adds up quickly
		axes = []int{0, 1, 2}
	}
	return graph.Reshape(graph.ReduceSum(x, axes...), s.batch(), s.channels)
}

// groupMean turns sums over the pixels [B, C] into means over each channel's group [B, C].
func (s *groupStatistics) groupMean(sum *graph.Node) *graph.Node {
	each := s.channels / s.groups
	mean := graph.ReduceSum(graph.Reshape(sum, s.batch(), s.groups, each), 2)
	mean = graph.DivScalar(mean, float64(each*s.size))
	mean = graph.BroadcastToDims(graph.ExpandAxes(mean, -1), s.batch(), s.groups, each)
	return graph.Reshape(mean, s.batch(), s.channels)
}

// combine returns offset + Σ image · factor in the precision of x; images and factors
// alternate, the offset and the factors are [B, C].
func (s *groupStatistics) combine(offset *graph.Node, imagesAndFactors ...*graph.Node) *graph.Node {
	spread := func(a *graph.Node) *graph.Node { return graph.Reshape(a, s.images, 1, 1, s.layers*s.channels) }
	sum := spread(offset)
	for i := 0; i < len(imagesAndFactors); i += 2 {
		image, factor := imagesAndFactors[i], imagesAndFactors[i+1]
		sum = graph.Add(graph.Mul(s.pixels(image), spread(factor)), sum)
	}
	return graph.ConvertDType(sum, s.image)
}

func commonDivisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Norms lists the kinds of LayerNorm.
var Norms = []string{"rms", "layer"}

// LayerNorm gives every vector unit mean square, then scales its components (Zhang and
// Sennrich, 2019). Kind "layer" also subtracts the mean before and adds a bias after
// (Ba et al., 2016).
type LayerNorm struct {
	Width int
	Kind  string
}

// Init returns "scale" (ones) and, for kind "layer", "bias" (zero), both [Width].
func (n LayerNorm) Init() weights.Set {
	set := weights.Set{"scale": weights.Full(1, n.Width)}
	if n.centred() {
		set["bias"] = weights.New(n.Width)
	}
	return set
}

func (n LayerNorm) centred() bool {
	switch n.Kind {
	case "rms":
		return false
	case "layer":
		return true
	}
	panic(fmt.Errorf("nn: unknown norm %q, use one of %v", n.Kind, Norms))
}

// Build normalizes x [..., Width] in the precision of x, with statistics in float32 or
// better.
func (n LayerNorm) Build(v weights.Vars, x *graph.Node) *graph.Node {
	dims := x.Shape().Dimensions
	rows := inFull(graph.Reshape(x, -1, n.Width))
	in := func(name string) *graph.Node {
		return graph.ExpandAxes(graph.ConvertDType(v.Get(name), rows.DType()), 0)
	}
	if n.centred() {
		rows = graph.Sub(rows, rowMean(rows))
	}
	y := rootMeanSquareNorm(rows, in("scale"))
	if n.centred() {
		y = graph.Add(y, in("bias"))
	}
	return graph.Reshape(graph.ConvertDType(y, x.DType()), dims...)
}

// rootMeanSquareNorm is x scale / √(mean x² + ε) for x [N,width] and scale [1,width].
// The gradient is written out, which halves the passes over x.
func rootMeanSquareNorm(x, scale *graph.Node) *graph.Node {
	size := graph.Reciprocal(graph.Sqrt(graph.AddScalar(rowMean(graph.Mul(x, x)), LayerNormEpsilon))) // [N,1]
	unit := graph.Mul(x, size)
	return withGradients(graph.Mul(unit, scale), []*graph.Node{x, scale}, func(adjoint *graph.Node) []*graph.Node {
		scaled := graph.Mul(adjoint, scale)
		along := graph.Mul(unit, rowMean(graph.Mul(scaled, unit))) // the part that changes the size alone
		return []*graph.Node{
			graph.Mul(graph.Sub(scaled, along), size),
			graph.ExpandAxes(graph.ReduceSum(graph.Mul(adjoint, unit), 0), 0),
		}
	})
}

func rowMean(x *graph.Node) *graph.Node { return graph.ReduceAndKeep(x, graph.ReduceMean, -1) }

func inFull(x *graph.Node) *graph.Node {
	if x.DType().IsHalfPrecision() {
		return graph.ConvertDType(x, dtypes.Float32)
	}
	return x
}
