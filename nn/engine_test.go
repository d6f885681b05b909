package nn

import (
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/bfloat16"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// The written gradient is used instead of the derived one, whether or not the
// engine fuses operations, and an infinite input does no harm.
func TestWithGradients(t *testing.T) {
	in := gradtest.Inputs{
		"a": {Shape: []int{2}, Data: []float64{3, math.Inf(1)}},
		"b": {Shape: []int{1, 2}, Data: []float64{math.Inf(-1), 5}},
	}
	for _, fusion := range []string{"1", "0"} {
		t.Setenv(graph.FusionEnv, fusion)
		got := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			a, b := nodes["a"], nodes["b"]
			value := graph.Round(graph.MulScalar(graph.Min(a, graph.ConstAs(a, 4.0)), 2)) // Round has no gradient
			y := withGradients(value, []*graph.Node{a, b}, func(adjoint *graph.Node) []*graph.Node {
				return []*graph.Node{graph.MulScalar(adjoint, 10), graph.ExpandAxes(graph.Neg(adjoint), 0)}
			})
			loss := graph.ReduceAllSum(graph.Mul(y, graph.Const(a.Graph(), []float64{1, 7})))
			return append([]*graph.Node{y}, graph.Gradient(loss, a, b)...)
		})
		for i, want := range [][]float64{{6, 8}, {10, 70}, {-1, -7}} {
			gradtest.Close(t, "fusion "+fusion, got[i], want, 0)
		}
	}
}

// Statistics of half-precision images are taken in float32: the sum of these
// pixels would stop growing in bfloat16, which counts no further than 256.
func TestGroupNormStatisticsAreFloat32(t *testing.T) {
	n := GroupNorm{Channels: 2, Groups: 2}
	in := asInputs(n.Init(), 0.1)
	x := gaussian(weights.Rand(1, "half"), 1, 32, 32, 2)
	for i := range x.Data {
		x.Data[i] = float64(bfloat16.FromFloat32(float32(x.Data[i] + 2)).Float32())
	}
	in["x"] = x
	got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		y := n.Build(weights.FromNodes(nodes), graph.ConvertDType(nodes["x"], dtypes.BFloat16))
		if y.DType() != dtypes.BFloat16 {
			t.Errorf("the output is %s", y.DType())
		}
		return []*graph.Node{graph.ConvertDType(y, dtypes.Float32)}
	})[0]
	gradtest.Close(t, "normalized", got, asPicture(x).groupNorm(variables{in: in}, 2).data, 4e-3)
}

// In bfloat16 the autoencoder gives float32 pictures and float32 gradients near
// those of float32.
func TestAutoencoderInBFloat16(t *testing.T) {
	halfEverywhere = true
	defer func() { halfEverywhere = false }()
	e := ImageEncoder{Widths: []int{8, 16}, Blocks: 1, Dim: 4}
	d := ImageDecoder{Widths: []int{8, 16}, Blocks: 1, Dim: 4, Up: "nearest"}
	set := weights.Set{}.Merge("encoder", e.Init(weights.Rand(1, "e"))).Merge("decoder", d.Init(weights.Rand(1, "d")))
	in := asInputs(set, 0.02)
	in["x"] = gaussian(weights.Rand(2, "x"), 2, 8, 8, 3)
	run := func(dtype dtypes.DType) [][]float64 {
		e, d := e, d
		e.DType, d.DType = dtype, dtype
		return gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			v := weights.FromNodes(nodes)
			z := e.Build(v.In("encoder"), nodes["x"])
			y := d.Build(v.In("decoder"), z)
			if z.DType() != dtypes.Float32 || y.DType() != dtypes.Float32 {
				t.Errorf("latents are %s and pictures %s", z.DType(), y.DType())
			}
			loss := graph.ReduceAllMean(graph.Square(graph.Sub(y, nodes["x"])))
			first, last := v.Get("encoder/input/weights"), v.Get("decoder/output/weights")
			return append([]*graph.Node{y}, graph.Gradient(loss, first, last)...)
		})
	}
	want, got := run(dtypes.InvalidDType), run(dtypes.BFloat16)
	for i, what := range []string{"picture", "gradient of the first kernel", "gradient of the last kernel"} {
		gradtest.Close(t, what, got[i], want[i], 0.05)
		if gradtest.RelativeError(got[i], want[i]) == 0 {
			t.Errorf("%s: bfloat16 changed nothing, so it was not used", what)
		}
	}
}

// Elsewhere half precision is asked for in vain on the embedded engine alone.
func TestInPrecision(t *testing.T) {
	in := gradtest.Inputs{"x": gaussian(weights.Rand(1, "x"), 3)}
	gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		want := dtypes.BFloat16
		if onEmbeddedEngine(nodes["x"]) {
			want = dtypes.Float32
		}
		if got := InPrecision(nodes["x"], dtypes.BFloat16).DType(); got != want {
			t.Errorf("half precision is %s, want %s", got, want)
		}
		if got := InPrecision(nodes["x"], dtypes.InvalidDType).DType(); got != dtypes.Float32 {
			t.Errorf("the input's precision is %s", got)
		}
		return []*graph.Node{nodes["x"]}
	})
}
