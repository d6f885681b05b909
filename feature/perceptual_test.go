package feature

import (
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

func perceptualInputs(t *testing.T, size int) (*LPIPS, gradtest.Inputs) {
	t.Helper()
	network, err := newLPIPS(fileOf(t, backboneTensors(squeezeNet)))
	if err != nil {
		t.Fatal(err)
	}
	return network, withVariables(gradtest.Inputs{
		"a": asInput(pixels(1, 1, size, size), 1, size, size, 3),
		"b": asInput(pixels(7919, 1, size, size), 1, size, size, 3),
	}, network.Variables())
}

// The loss equals plain loops over the activations.
func TestPerceptualL1ByItsDefinition(t *testing.T) {
	network, in := perceptualInputs(t, 36)
	values := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		v := weights.FromNodes(nodes)
		out := []*graph.Node{network.PerceptualL1(v, nodes["a"], nodes["b"])}
		out = append(out, network.Activations(v, nodes["a"])...)
		return append(out, network.Activations(v, nodes["b"])...)
	})
	layers := (len(values) - 1) / 2
	if layers != 7 {
		t.Fatalf("%d layers are compared", layers)
	}
	channels := []int{64, 128, 256, 384, 384, 512, 512}
	want := 0.0
	for layer := range layers {
		a, b := values[1+layer], values[1+layers+layer]
		sum := 0.0
		for at := 0; at < len(a); at += channels[layer] {
			lengths := [2]float64{1e-6, 1e-6}
			for c := range channels[layer] {
				lengths[0] += a[at+c] * a[at+c]
				lengths[1] += b[at+c] * b[at+c]
			}
			for c := range channels[layer] {
				sum += math.Abs(a[at+c]/math.Sqrt(lengths[0]) - b[at+c]/math.Sqrt(lengths[1]))
			}
		}
		want += sum / float64(len(a)) / float64(layers)
	}
	gradtest.Close(t, "loss", values[0], []float64{want}, 1e-9)
}

// Along random directions the gradient of a is the finite difference; b and
// the weights have none.
func TestPerceptualL1Gradient(t *testing.T) {
	network, in := perceptualInputs(t, 33)
	loss := func(nodes map[string]*graph.Node) *graph.Node {
		return network.PerceptualL1(weights.FromNodes(nodes), nodes["a"], nodes["b"])
	}
	names := []string{"a", "b", "stage0/kernel", "stage12/expand3x3/bias"}
	gradients := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		var wrt []*graph.Node
		for _, name := range names {
			wrt = append(wrt, nodes[name])
		}
		return graph.Gradient(loss(nodes), wrt...)
	})
	for i, name := range names[1:] {
		for _, value := range gradients[i+1] {
			if value != 0 {
				t.Fatalf("%s has the gradient %g", name, value)
			}
		}
	}
	at := in["a"]
	for k := range 4 {
		rng := weights.Rand(uint64(k), "direction")
		direction, slope := make([]float64, len(at.Data)), 0.0
		for i := range direction {
			direction[i] = rng.NormFloat64()
			slope += direction[i] * gradients[0][i]
		}
		const step = 1e-7 // within which hardly any ReLU or maximum changes sides
		values := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			move := graph.Reshape(graph.Const(nodes["a"].Graph(), direction), at.Shape...)
			var out []*graph.Node
			for _, sign := range []float64{1, -1} {
				moved := map[string]*graph.Node{}
				for name, node := range nodes {
					moved[name] = node
				}
				moved["a"] = graph.Add(nodes["a"], graph.MulScalar(move, sign*step))
				out = append(out, loss(moved))
			}
			return out
		})
		difference := (values[0][0] - values[1][0]) / (2 * step)
		if math.Abs(difference-slope) > 1e-4*math.Abs(difference)+1e-6 {
			t.Errorf("direction %d: gradient %g, finite difference %g", k, slope, difference)
		}
	}
}

// In bfloat16 the networks run narrow and the statistics do not.
func TestPerceptualL1InBFloat16(t *testing.T) {
	network, in := perceptualInputs(t, 36)
	values := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		v := weights.FromNodes(nodes)
		narrow := func(x *graph.Node) *graph.Node { return graph.ConvertDType(x, dtypes.BFloat16) }
		exact := network.PerceptualL1(v, nodes["a"], nodes["b"])
		rough := network.PerceptualL1(v, narrow(nodes["a"]), narrow(nodes["b"]))
		distance := network.Distance(v, narrow(nodes["a"]), narrow(nodes["b"]))
		if rough.DType() != dtypes.Float32 || distance.DType() != dtypes.Float32 {
			t.Errorf("the loss is %s, the distance %s", rough.DType(), distance.DType())
		}
		if last := network.Activations(v, narrow(nodes["a"]))[6]; last.DType() != dtypes.BFloat16 {
			t.Errorf("activations of narrow pictures are %s", last.DType())
		}
		return []*graph.Node{
			exact, rough, network.Distance(v, nodes["a"], nodes["b"]), distance,
			graph.Gradient(exact, nodes["a"])[0], graph.Gradient(rough, nodes["a"])[0],
		}
	})
	gradtest.Close(t, "loss", values[1], values[0], 0.02)
	gradtest.Close(t, "distance", values[3], values[2], 0.02)
	gradtest.Close(t, "gradient", values[5], values[4], 0.3)
}
