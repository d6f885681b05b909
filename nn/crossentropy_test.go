package nn

import (
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

var crossTargets = []int32{3, 0, 10, 3, 7, 7, 1}

func crossInputs() gradtest.Inputs {
	rng := weights.Rand(1, "cross-entropy")
	return gradtest.Inputs{"x": gaussian(rng, 7, 4), "table": gaussian(rng, 11, 4)}
}

// referenceCrossEntropies is the definition, in float64.
func referenceCrossEntropies(in gradtest.Inputs) []float64 {
	x, table := in["x"], in["table"]
	rows, width, codes := x.Shape[0], x.Shape[1], table.Shape[0]
	losses := make([]float64, rows)
	for i := range rows {
		sum, wanted := 0.0, 0.0
		for k := range codes {
			logit := 0.0
			for j := range width {
				logit += x.Data[i*width+j] * table.Data[k*width+j]
			}
			if sum += math.Exp(logit); int32(k) == crossTargets[i] {
				wanted = logit
			}
		}
		losses[i] = math.Log(sum) - wanted
	}
	return losses
}

// In blocks of any size, with a ragged last one, value and gradients are those of the
// definition.
func TestCrossEntropyInBlocks(t *testing.T) {
	defer func() { rowsOfBlock = 0 }()
	in := crossInputs()
	sum := func(in gradtest.Inputs) (total float64) {
		for _, loss := range referenceCrossEntropies(in) {
			total += loss
		}
		return total
	}
	for _, rowsOfBlock = range []int{0, 1, 3, 7, 100} {
		name := fmt.Sprintf("blocks of %d rows", rowsOfBlock)
		values := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			targets := graph.Const(nodes["x"].Graph(), crossTargets)
			return []*graph.Node{CrossEntropies(nodes["x"], nodes["table"], targets), CrossEntropy(nodes["x"], nodes["table"], targets)}
		})
		gradtest.Close(t, name, values[0], referenceCrossEntropies(in), 1e-12)
		gradtest.Close(t, name+", sum", values[1], []float64{sum(in)}, 1e-12)
		gradients := gradtest.Autodiff[float64](t, in, func(nodes map[string]*graph.Node) *graph.Node {
			loss := CrossEntropy(nodes["x"], nodes["table"], graph.Const(nodes["x"].Graph(), crossTargets))
			return graph.MulScalar(loss, 0.3) // an adjoint other than 1
		})
		for _, input := range []string{"x", "table"} {
			want := gradtest.FiniteDifference(in, input, func(in gradtest.Inputs) float64 { return 0.3 * sum(in) })
			gradtest.Close(t, name+", gradient of "+input, gradients[input], want, 1e-8)
		}
	}
}

// The blocked gradients are those that the engine derives for the plain loss.
func TestCrossEntropyEqualsLogSoftmax(t *testing.T) {
	defer func() { rowsOfBlock = 0 }()
	rowsOfBlock = 2
	in := crossInputs()
	plain := gradtest.Autodiff[float64](t, in, func(nodes map[string]*graph.Node) *graph.Node {
		x := nodes["x"]
		wanted := graph.OneHot(graph.Const(x.Graph(), crossTargets), 11, x.DType())
		return graph.Neg(graph.ReduceAllSum(graph.Mul(wanted, graph.LogSoftmax(Logits(x, nodes["table"]), -1))))
	})
	blocked := gradtest.Autodiff[float64](t, in, func(nodes map[string]*graph.Node) *graph.Node {
		return CrossEntropy(nodes["x"], nodes["table"], graph.Const(nodes["x"].Graph(), crossTargets))
	})
	for _, input := range []string{"x", "table"} {
		gradtest.Close(t, input, blocked[input], plain[input], 1e-13)
	}
}

// Logits of a size whose exponential overflows still have a loss.
func TestCrossEntropyOfLargeLogits(t *testing.T) {
	in := crossInputs()
	for i := range in["x"].Data {
		in["x"].Data[i] *= 1000
	}
	for i, loss := range gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		return []*graph.Node{CrossEntropies(nodes["x"], nodes["table"], graph.Const(nodes["x"].Graph(), crossTargets))}
	})[0] {
		if !(loss >= 0) || math.IsInf(loss, 0) {
			t.Errorf("row %d has loss %g", i, loss)
		}
	}
}

// In half precision logits and sums are float32, and the gradient of the table too.
func TestCrossEntropyInBFloat16(t *testing.T) {
	in := crossInputs()
	got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		x := graph.ConvertDType(nodes["x"], dtypes.BFloat16)
		loss := CrossEntropy(x, nodes["table"], graph.Const(x.Graph(), crossTargets))
		if loss.DType() != dtypes.Float32 {
			t.Errorf("the loss is %s", loss.DType())
		}
		return append(graph.Gradient(loss, nodes["x"], nodes["table"]), loss)
	})
	want := gradtest.Autodiff[float64](t, in, func(nodes map[string]*graph.Node) *graph.Node {
		return CrossEntropy(nodes["x"], nodes["table"], graph.Const(nodes["x"].Graph(), crossTargets))
	})
	gradtest.Close(t, "x", got[0], want["x"], 1e-2)
	gradtest.Close(t, "table", got[1], want["table"], 1e-2)
}
