package transform

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/mat"

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

func spectralNorm(w []float64, d int) float64 {
	var svd mat.SVD
	svd.Factorize(mat.NewDense(d, d, append([]float64(nil), w...)), mat.SVDNone)
	return svd.Values(nil)[0]
}

func TestClippedFeatureConvergesOverSteps(t *testing.T) {
	const d = 24
	c := smallConfig(KindLinear)
	c.SpectralClip = 2
	rng := testRand()
	run := func(w, u []float64) (clipped, next []float64) {
		in := gradtest.Inputs{"w": {Shape: []int{d, d}, Data: w}, "u": {Shape: []int{d}, Data: u}}
		out := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			clipped, next := c.ClippedFeature(nodes["w"], nodes["u"])
			return []*graph.Node{clipped, next}
		})
		return out[0], out[1]
	}
	w, u := toFloat64(weights.Normal(rng, 1, d, d).Data), toFloat64(weights.Normal(rng, 1, d).Data)
	original := w
	for range 60 {
		w, u = run(w, u)
	}
	for i, x := range w {
		if ratio := w[0] / original[0]; math.Abs(x/original[i]-ratio) > 1e-4 {
			t.Fatal("clipping changed the shape of W, not only its scale")
		}
	}
	if got := spectralNorm(w, d); got > 2*(1+1e-3) || got < 1.98 {
		t.Errorf("after 60 steps with the bound 2 the norm is %g", got)
	}
	small := toFloat64(weights.Eye(d).Data)
	same, _ := run(small, u)
	for i, x := range same {
		if x != small[i] {
			t.Fatal("a W within the bound was changed")
		}
	}
	zero, next := run(make([]float64, d*d), u)
	if dot(zero, zero) != 0 || math.Abs(dot(next, next)-1) > 1e-5 {
		t.Errorf("a zero W gives norm² %g and a power vector of length² %g", dot(zero, zero), dot(next, next))
	}
}

// A step of equal length on every entry of B, all in the worst direction, moves
// the mixture of codes no farther at 16,384 codes than at 256.
func TestStrideBoundsTheMixedStep(t *testing.T) {
	move := func(k int) float64 {
		c := Default()
		rng := rand.New(rand.NewPCG(1, uint64(k)))
		codes := weights.Normal(rng, 1, k, 4)
		set, err := c.Init(codes, 1, rng)
		if err != nil {
			t.Fatal(err)
		}
		b := set["mixer/b"]
		step := 1e-3 * c.Stride("quantizer/level0/mixer/b", b.Shape)
		worst := 0.0 // Σ_k |ΔB_k E_k| for one column of B and one dimension
		for i := range k {
			worst += step * math.Abs(float64(codes.Data[i*4]))
		}
		return worst
	}
	small, large := move(256), move(16384)
	if large > 1.2*small {
		t.Errorf("one step moves the mixture by up to %.3g at 16384 codes and %.3g at 256", large, small)
	}
}

func TestStrideLeavesOtherVariablesAlone(t *testing.T) {
	c := Default()
	if got := c.Stride("level0/mixer/a", []int{65536, 32}); got != 1 {
		t.Errorf("A takes %g of a step, want all: it sums over the rank only", got)
	}
	if got := c.Stride("level0/mixer/b", []int{32, 256}); got != 1 {
		t.Errorf("B of 256 codes takes %g of a step, want all", got)
	}
	c.Kind = KindAttentionLowRank
	if got := c.Stride("level0/mixer/b", []int{32, 65536}); got != 1 {
		t.Errorf("attention takes %g of a step, want all: its weights sum to one", got)
	}
}
