package vqtrain

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/weights"
)

type array struct {
	Shape []int     `json:"shape"`
	Data  []float64 `json:"data"`
}

type parameters map[string]array

// autograd is the objective by PyTorch: testdata/adversarial.py.
type autograd struct {
	Weight             float64    `json:"weight"`
	Width              int        `json:"width"`
	Layers             int        `json:"layers"`
	Groups             int        `json:"groups"`
	Features           array      `json:"features"`
	Last               array      `json:"last"`
	Target             array      `json:"target"`
	Parameters         parameters `json:"parameters"`
	Adaptive           float64    `json:"adaptive"`
	Generator          float64    `json:"generator"`
	Hinge              float64    `json:"hinge"`
	Total, Real, Drawn float64
	Gradients          struct {
		Features   array      `json:"features"`
		Last       array      `json:"last"`
		Parameters parameters `json:"parameters"`
	} `json:"gradients"`
}

func readAutograd(t *testing.T) (f autograd, in gradtest.Inputs, d nn.PatchDiscriminator) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "adversarial.json"))
	if err == nil {
		err = json.Unmarshal(content, &f)
	}
	if err != nil {
		t.Fatal(err)
	}
	in = gradtest.Inputs{"features": gradtest.Value(f.Features), "last": gradtest.Value(f.Last), "target": gradtest.Value(f.Target)}
	for name, p := range f.Parameters {
		in[name] = gradtest.Value(p)
	}
	return f, in, nn.PatchDiscriminator{Width: f.Width, Layers: f.Layers, Groups: f.Groups}
}

// judged is the objective of pictures that one convolution makes of features.
func (f autograd) judged(d nn.PatchDiscriminator, nodes map[string]*graph.Node) judgement {
	output := nn.Convolve(nodes["features"], nodes["last"], nn.ConvOptions{Padding: nn.SamePadding(3, 1)})
	pass := tokenizer.Pass{Target: nodes["target"], Output: output}
	weight := graph.Scalar(output.Graph(), output.DType(), f.Weight)
	return judge(d, weights.FromNodes(nodes), pass, pass.Error(), nodes["last"], weight)
}

// Values and gradients are those of PyTorch, in double and in single precision.
func TestAdversarialObjectiveIsPyTorchs(t *testing.T) {
	t.Run("float64", func(t *testing.T) { compareAutograd[float64](t, 1e-7) })
	t.Run("float32", func(t *testing.T) { compareAutograd[float32](t, 1e-4) })
}

func compareAutograd[T gradtest.Float](t *testing.T, tolerance float64) {
	f, in, d := readAutograd(t)
	names := slices.Sorted(maps.Keys(f.Parameters))
	got := gradtest.Eval[T](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		j := f.judged(d, nodes)
		out := append([]*graph.Node{j.loss}, j.scalars...)
		wrt := []*graph.Node{nodes["features"], nodes["last"]}
		for _, name := range names {
			wrt = append(wrt, nodes[name])
		}
		return append(out, graph.Gradient(graph.Add(j.loss, j.assist), wrt...)...) // as the loop takes it
	})
	for i, want := range []float64{f.Total, f.Adaptive, f.Generator, f.Hinge, f.Real, f.Drawn, 1} {
		gradtest.Close(t, "a scalar", got[i], []float64{want}, tolerance)
	}
	got = got[7:]
	gradtest.Close(t, "gradient of features", got[0], f.Gradients.Features.Data, tolerance)
	gradtest.Close(t, "gradient of the last layer", got[1], f.Gradients.Last.Data, tolerance)
	for i, name := range names {
		gradtest.Close(t, "gradient of "+name, got[2+i], f.Gradients.Parameters[name].Data, tolerance)
	}
}

// The hinge losses have the closed form -1/2n where a picture is inside its margin, and 1/2n where a drawn one is.
func TestHingeLossGradient(t *testing.T) {
	in := gradtest.Inputs{
		"real":  {Shape: []int{4}, Data: []float64{-2, 0.5, 0.99, 3}},
		"drawn": {Shape: []int{2}, Data: []float64{-1.5, 0.25}},
	}
	hinge := func(nodes map[string]*graph.Node) *graph.Node { return hingeLoss(nodes["real"], nodes["drawn"]) }
	value := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node { return []*graph.Node{hinge(nodes)} })[0]
	gradtest.Close(t, "value", value, []float64{0.5*(3+0.5+0.01)/4 + 0.5*1.25/2}, 1e-12)
	got := gradtest.Autodiff[float64](t, in, hinge)
	gradtest.Close(t, "real", got["real"], []float64{-1.0 / 8, -1.0 / 8, -1.0 / 8, 0}, 1e-12)
	gradtest.Close(t, "drawn", got["drawn"], []float64{0, 1.0 / 4}, 1e-12)
}

// With both gradients scaled to one length the adversarial part of the last layer's gradient is weight times as long as
// the reconstruction's, whatever the scale of the judgement, and a judgement that is not finite changes nothing.
func TestAdaptiveWeightBalancesTheLastLayer(t *testing.T) {
	f, in, d := readAutograd(t)
	d.Layers = f.Layers
	last := func(f autograd) []float64 {
		return gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			return graph.Gradient(f.judged(d, nodes).loss, nodes["last"])
		})[0]
	}
	norm := func(x []float64) float64 {
		sum := 0.0
		for _, v := range x {
			sum += v * v
		}
		return math.Sqrt(sum)
	}
	alone := f
	alone.Weight = 0
	restored := last(alone)
	end := "conv2/weights"
	for _, scale := range []float64{0.1, 1, 30} {
		for i, v := range f.Parameters[end].Data {
			in[end].Data[i] = scale * v
		}
		both := last(f)
		for i := range both {
			both[i] -= restored[i]
		}
		// The constant of the denominator shows where the judgement is flat.
		if ratio := norm(both) / norm(restored); math.Abs(ratio/f.Weight-1) > 0.1 {
			t.Errorf("judgements times %g: the adversarial gradient is %.4f times the reconstruction's, want %g", scale, ratio, f.Weight)
		}
	}
	in[end].Data[0] = math.Inf(1)
	gradtest.Close(t, "beside an infinite judgement", last(f), restored, 1e-12)
}
