package nn

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/weights"
)

// Norms lists the kinds of LayerNorm.
var Norms = []string{"rms", "layer"}

// LayerNorm brings every vector to the same size and then scales its components.
// Kind "rms" divides by the root of the mean square (Zhang and Sennrich, 2019);
// "layer" subtracts the mean before and adds a bias after (Ba et al., 2016).
type LayerNorm struct {
	Width int
	Kind  string
}

// layerNormEpsilon keeps a zero vector from being divided by zero.
const layerNormEpsilon = 1e-6

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

// Build normalizes x [..., Width]. Statistics are taken in float32 or better
// whatever the precision of x, which the result has too.
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

// rootMeanSquareNorm is x scale / √(mean x² + ε) for x [N,width] and scale
// [1,width]. The gradient is written out, which halves the passes over x.
func rootMeanSquareNorm(x, scale *graph.Node) *graph.Node {
	size := graph.Reciprocal(graph.Sqrt(graph.AddScalar(rowMean(graph.Mul(x, x)), layerNormEpsilon))) // [N,1]
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

// rowMean is the mean of each row of x [N,width] as [N,1].
func rowMean(x *graph.Node) *graph.Node { return graph.ReduceAndKeep(x, graph.ReduceMean, -1) }

// inFull is x in float32 where it has half precision.
func inFull(x *graph.Node) *graph.Node {
	if x.DType().IsHalfPrecision() {
		return graph.ConvertDType(x, dtypes.Float32)
	}
	return x
}
