package transform

import (
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

func apply[T gradtest.Float](t *testing.T, c Config, in gradtest.Inputs) []float64 {
	t.Helper()
	return gradtest.Eval[T](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		return []*graph.Node{c.Apply(weights.FromNodes(nodes), nodes["codes"])}
	})[0]
}

func TestApplyEqualsHost(t *testing.T) {
	for name, c := range everyConfig() {
		t.Run(name, func(t *testing.T) {
			set, codes := trained(t, c, testCodes, testDim)
			want := c.Usable(set, codes)
			in := inputs(set, codes)
			gradtest.Close(t, "float64", apply[float64](t, c, in), want, 1e-10)
			gradtest.Close(t, "float32", apply[float32](t, c, in), want, 1e-5)
		})
	}
}

func TestGradientsEqualFiniteDifferences(t *testing.T) {
	g := upstream(testCodes, testDim)
	for name, c := range everyConfig() {
		t.Run(name, func(t *testing.T) {
			set, codes := trained(t, c, testCodes, testDim)
			in := inputs(set, codes)
			double, single := gradients[float64](t, c, in, g), gradients[float32](t, c, in, g)
			for _, path := range in.Names() {
				if weights.GroupOf(path) == weights.State || path == "codes" && !c.Joint {
					for _, x := range double[path] {
						if x != 0 {
							t.Fatalf("%s is not trained but has gradient %g", path, x)
						}
					}
					continue
				}
				slope := gradtest.FiniteDifference(in, path, func(in gradtest.Inputs) float64 { return dot(host(c, in), g) })
				gradtest.Close(t, path+" in float64", double[path], slope, 1e-6)
				gradtest.Close(t, path+" in float32", single[path], slope, 1e-3)
			}
		})
	}
}

// Rows must agree with Gather(Apply) below K, at K and above, repeats included.
func TestRowsEqualGatheredApply(t *testing.T) {
	for name, c := range everyConfig() {
		for _, index := range [][]int32{{7, 2, 2, 9, 0}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 3}} {
			set, codes := trained(t, c, testCodes, testDim)
			in := inputs(set, codes)
			g := upstream(len(index), testDim)
			both := func(rows bool) (values []float64, grads map[string][]float64) {
				build := func(nodes map[string]*graph.Node) *graph.Node {
					v, at := weights.FromNodes(nodes), graph.Const(nodes["codes"].Graph(), index)
					if at.DType() != dtypes.Int32 {
						t.Fatalf("index has type %s", at.DType())
					}
					if rows {
						return c.Rows(v, nodes["codes"], at)
					}
					return graph.Gather(c.Apply(v, nodes["codes"]), graph.InsertAxes(at, -1))
				}
				values = gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
					return []*graph.Node{build(nodes)}
				})[0]
				return values, gradtest.Autodiff[float64](t, in, func(nodes map[string]*graph.Node) *graph.Node {
					usable := build(nodes)
					return graph.ReduceAllSum(graph.Mul(usable, graph.Reshape(graph.ConstAs(usable, g), len(index), testDim)))
				})
			}
			values, grads := both(true)
			wantValues, wantGrads := both(false)
			gradtest.Close(t, name, values, wantValues, 1e-12)
			for path := range in {
				gradtest.Close(t, name+": gradient of "+path, grads[path], wantGrads[path], 1e-12)
			}
		}
	}
}

// Row normalisation multiplies the upstream gradient by gain (I - c cᵀ)/|c'|.
func TestRowNormGradient(t *testing.T) {
	c := smallConfig(KindIdentity)
	c.RowNorm = RowNormGain
	set, codes := trained(t, c, testCodes, testDim)
	in := inputs(set, codes)
	g := upstream(testCodes, testDim)
	want, wantGain := make([]float64, len(g)), 0.0
	gain := in["feature/gain"].Data[0]
	for i := range testCodes {
		row, up := in["codes"].Data[i*testDim:(i+1)*testDim], g[i*testDim:(i+1)*testDim]
		length := math.Sqrt(dot(row, row))
		along := dot(row, up) / length
		wantGain += along
		for j := range row {
			want[i*testDim+j] = gain * (up[j] - row[j]/length*along) / length
		}
	}
	got := gradients[float64](t, c, in, g)
	gradtest.Close(t, "codes", got["codes"], want, 1e-12)
	gradtest.Close(t, "gain", got["feature/gain"], []float64{wantGain}, 1e-12)
}

func TestZeroRowsStayFinite(t *testing.T) {
	for name, c := range everyConfig() {
		set, codes := start(t, c, testCodes, testDim)
		clear(codes.Data[:2*testDim])
		for _, path := range []string{"state/source", "mixer/a"} {
			if a := set[path]; a != nil {
				clear(a.Row(0))
				clear(a.Row(1))
			}
		}
		in := inputs(set, codes)
		for _, x := range apply[float32](t, c, in) {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				t.Fatalf("%s: a zero row gives a usable code that is not finite", name)
			}
		}
		for path, values := range gradients[float32](t, c, in, upstream(testCodes, testDim)) {
			for _, x := range values {
				if math.IsNaN(x) || math.Abs(x) > 1e6 {
					t.Fatalf("%s: a zero row gives %s the gradient %g", name, path, x)
				}
			}
		}
	}
}

func TestMisusePanics(t *testing.T) {
	expectPanic := func(what string, build func(nodes map[string]*graph.Node) *graph.Node) {
		t.Helper()
		set, codes := start(t, smallConfig(KindLinear), testCodes, testDim)
		failed := false
		gradtest.Eval[float32](t, inputs(set, codes), func(nodes map[string]*graph.Node) (out []*graph.Node) {
			defer func() {
				failed = recover() != nil
				out = []*graph.Node{nodes["codes"]} // the engine needs a result
			}()
			build(nodes)
			return nil
		})
		if !failed {
			t.Errorf("%s did not panic", what)
		}
	}
	expectPanic("codes that are a vector", func(nodes map[string]*graph.Node) *graph.Node {
		return smallConfig(KindLinear).Apply(weights.FromNodes(nodes), graph.Reshape(nodes["codes"], -1))
	})
	expectPanic("a missing variable", func(nodes map[string]*graph.Node) *graph.Node {
		return smallConfig(KindFull).Apply(weights.FromNodes(nodes), nodes["codes"])
	})
	expectPanic("an index matrix", func(nodes map[string]*graph.Node) *graph.Node {
		return smallConfig(KindLinear).Rows(weights.FromNodes(nodes), nodes["codes"], graph.Const(nodes["codes"].Graph(), [][]int32{{1}}))
	})
}
