package nn

import (
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

var activations = map[string]func(x float64) float64{
	"relu": func(x float64) float64 { return math.Max(0, x) },
	"gelu": func(x float64) float64 { return x * 0.5 * (1 + math.Erf(x/math.Sqrt2)) },
	"silu": func(x float64) float64 { return x / (1 + math.Exp(-x)) },
}

// mlpLoops is the network in plain loops: y [n,last] for x [n,first].
func mlpLoops(m MLP, in gradtest.Inputs) []float64 {
	x, n := in["x"].Data, in["x"].Shape[0]
	for layer := range len(m.Widths) - 1 {
		w, b := in[fmt.Sprintf("layer%d/weights", layer)].Data, in[fmt.Sprintf("layer%d/bias", layer)].Data
		from, to := m.Widths[layer], m.Widths[layer+1]
		y := make([]float64, n*to)
		for i := range n {
			for j := range to {
				sum := b[j]
				for k := range from {
					sum += x[i*from+k] * w[k*to+j]
				}
				if layer < len(m.Widths)-2 {
					sum = activations[m.Activation](sum)
				}
				y[i*to+j] = sum
			}
		}
		x = y
	}
	return x
}

func fixture(m MLP, n int) gradtest.Inputs {
	rng := weights.Rand(4, m.Activation)
	set := m.Init(rng)
	set["x"] = weights.Normal(rng, 1, n, m.Widths[0])
	set["g"] = weights.Normal(rng, 1, n, m.Widths[len(m.Widths)-1])
	in := gradtest.Inputs{}
	for p, a := range set {
		v := gradtest.Value{Shape: a.Shape}
		for _, x := range a.Data {
			v.Data = append(v.Data, float64(x)+0.05*rng.NormFloat64()) // biases too
		}
		in[p] = v
	}
	return in
}

// Values equal plain loops, gradients their finite differences.
func TestMLP(t *testing.T) {
	for _, activation := range Activations {
		for _, widths := range [][]int{{3, 2}, {3, 5, 2}, {4, 6, 5, 3}} {
			m := MLP{Widths: widths, Activation: activation}
			in := fixture(m, 6)
			name := fmt.Sprintf("%s %v", activation, widths)
			got := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
				return []*graph.Node{m.Build(weights.FromNodes(nodes), nodes["x"])}
			})
			gradtest.Close(t, name, got[0], mlpLoops(m, in), 1e-6) // the engine approximates erf
			gradients := gradtest.Autodiff[float64](t, in, func(nodes map[string]*graph.Node) *graph.Node {
				return graph.ReduceAllSum(graph.Mul(m.Build(weights.FromNodes(nodes), nodes["x"]), nodes["g"]))
			})
			for p := range in {
				if p == "g" {
					continue
				}
				want := gradtest.FiniteDifference(in, p, func(in gradtest.Inputs) float64 {
					sum := 0.0
					for i, y := range mlpLoops(m, in) {
						sum += y * in["g"].Data[i]
					}
					return sum
				})
				gradtest.Close(t, name+" gradient of "+p, gradients[p], want, 1e-6)
			}
		}
	}
}

// Tokenizers run in float32; the fused engine operations must agree there.
func TestMLPInFloat32(t *testing.T) {
	for _, activation := range Activations {
		m := MLP{Widths: []int{20, 33, 17, 4}, Activation: activation}
		in := fixture(m, 40)
		got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			return []*graph.Node{m.Build(weights.FromNodes(nodes), nodes["x"])}
		})
		gradtest.Close(t, activation, got[0], mlpLoops(m, in), 1e-5)
	}
}

func TestFewerThanTwoWidthsIsTheIdentity(t *testing.T) {
	for _, m := range []MLP{{}, {Widths: []int{3}}} {
		if set := m.Init(weights.Rand(1, "")); len(set) != 0 {
			t.Errorf("%v has variables %v", m.Widths, set.Paths())
		}
		in := gradtest.Inputs{"x": {Shape: []int{2, 3}, Data: []float64{1, 2, 3, 4, 5, 6}}}
		got := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			return []*graph.Node{graph.Identity(m.Build(weights.Vars{}, nodes["x"]))}
		})
		gradtest.Close(t, "identity", got[0], in["x"].Data, 0)
	}
}

// Signal keeps its size through a deep network, so that the first step is
// neither blind nor blown up.
func TestInitKeepsTheSignal(t *testing.T) {
	m := MLP{Widths: []int{256, 256, 256, 256, 256, 256}, Activation: "relu"}
	rng := weights.Rand(9, "deep")
	in := gradtest.Inputs{}
	for p, a := range m.Init(rng) {
		v := gradtest.Value{Shape: a.Shape, Data: make([]float64, len(a.Data))}
		for i, x := range a.Data {
			v.Data[i] = float64(x)
		}
		in[p] = v
	}
	x := gradtest.Value{Shape: []int{50, 256}, Data: make([]float64, 50*256)}
	for i := range x.Data {
		x.Data[i] = rng.NormFloat64()
	}
	in["x"] = x
	square := 0.0
	y := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		return []*graph.Node{m.Build(weights.FromNodes(nodes), nodes["x"])}
	})[0]
	for _, v := range y {
		square += v * v / float64(len(y))
	}
	if square < 0.4 || square > 2.5 {
		t.Errorf("unit variance became %g after five layers", square)
	}
}
