package transform

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/mat"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// Ten codes do not divide into four groups, so that the grouped mixer pads.
const testCodes, testDim = 10, 4

var allKinds = []Kind{KindIdentity, KindLinear, KindLowRank, KindFull, KindGrouped, KindAttention, KindAttentionTopK, KindAttentionLowRank,
	KindAttentionRowNorm}

func smallConfig(kind Kind) Config {
	c := Default()
	c.Kind, c.Rank, c.Groups, c.TopK, c.ScoreDim, c.Temperature = kind, 3, 4, 3, 2, 0.7
	return c
}

// everyConfig is every kind with every row normalisation, joint and frozen.
func everyConfig() map[string]Config {
	all := map[string]Config{}
	for _, kind := range allKinds {
		for _, norm := range rowNorms(kind) {
			for _, joint := range []bool{true, false} {
				c := smallConfig(kind)
				c.RowNorm, c.Joint = norm, joint
				all[fmt.Sprintf("%s/%s/joint=%v", kind, norm, joint)] = c
			}
		}
	}
	noFeature := smallConfig(KindLinear)
	noFeature.FeatureMap = false
	all["linear/no feature map"] = noFeature
	return all
}

// rowNorms are the row normalisations of a kind.
func rowNorms(kind Kind) []string {
	if kind == KindAttentionRowNorm {
		return []string{RowNormNone}
	}
	return []string{RowNormNone, RowNormLatent, RowNormGain}
}

func testRand() *rand.Rand { return rand.New(rand.NewPCG(7, 11)) }

// start returns initial variables for random codes [k,d].
func start(tb testing.TB, c Config, k, d int) (weights.Set, *weights.Array) {
	tb.Helper()
	rng := testRand()
	codes := weights.Normal(rng, 1, k, d)
	set, err := c.Init(codes, 1.5, rng)
	if err != nil {
		tb.Fatal(err)
	}
	return set, codes
}

// trained returns variables away from their special initial values, as after
// some training: everything but state moved by noise.
func trained(tb testing.TB, c Config, k, d int) (weights.Set, *weights.Array) {
	tb.Helper()
	set, codes := start(tb, c, k, d)
	rng := rand.New(rand.NewPCG(13, 17))
	for _, path := range set.Paths() {
		if weights.GroupOf(path) == weights.State {
			continue
		}
		noise := weights.Normal(rng, 0.2, len(set[path].Data))
		for i, x := range noise.Data {
			set[path].Data[i] += x
		}
	}
	for i, x := range weights.Normal(rng, 0.2, k*d).Data {
		codes.Data[i] += x // the frozen source stays behind
	}
	return set, codes
}

// inputs are the variables of a transform as a graph's named inputs.
func inputs(set weights.Set, codes *weights.Array) gradtest.Inputs {
	in := gradtest.Inputs{"codes": {Shape: codes.Shape, Data: toFloat64(codes.Data)}}
	for path, a := range set {
		in[path] = gradtest.Value{Shape: a.Shape, Data: toFloat64(a.Data)}
	}
	return in
}

// host evaluates the reference at a graph's inputs.
func host(c Config, in gradtest.Inputs) []float64 {
	p := variables{k: in["codes"].Shape[0], d: in["codes"].Shape[1], values: map[string][]float64{}}
	for path, v := range in {
		p.values[path] = v.Data
	}
	return c.usable(p)
}

// upstream is a fixed dL/dC' [k,d].
func upstream(k, d int) []float64 {
	return toFloat64(weights.Normal(rand.New(rand.NewPCG(3, 5)), 1, k, d).Data)
}

// gradients returns autodiff's gradients of sum(G * C') in every input.
func gradients[T gradtest.Float](tb testing.TB, c Config, in gradtest.Inputs, g []float64) map[string][]float64 {
	tb.Helper()
	return gradtest.Autodiff[T](tb, in, func(nodes map[string]*graph.Node) *graph.Node {
		usable := c.Apply(weights.FromNodes(nodes), nodes["codes"])
		weight := graph.Reshape(graph.ConstAs(usable, g), usable.Shape().Dimensions...)
		return graph.ReduceAllSum(graph.Mul(usable, weight))
	})
}

// matrix views an input as a gonum matrix.
func matrix(in gradtest.Inputs, path string) *mat.Dense {
	v := in[path]
	return mat.NewDense(v.Shape[0], v.Shape[1], v.Data)
}

// chain multiplies matrices from left to right.
func chain(first mat.Matrix, rest ...mat.Matrix) *mat.Dense {
	product := mat.DenseCopyOf(first)
	for _, m := range rest {
		var next mat.Dense
		next.Mul(product, m)
		product = &next
	}
	return product
}

// checkGradients compares autodiff, in both precisions, with closed forms.
func checkGradients(t *testing.T, c Config, in gradtest.Inputs, g []float64, want map[string]*mat.Dense) {
	t.Helper()
	double, single := gradients[float64](t, c, in, g), gradients[float32](t, c, in, g)
	for path, closed := range want {
		gradtest.Close(t, path+" in float64", double[path], closed.RawMatrix().Data, 1e-10)
		gradtest.Close(t, path+" in float32", single[path], closed.RawMatrix().Data, 1e-4)
	}
}

// unit scales x to length 1.
func unit(x []float64) {
	length := math.Sqrt(dot(x, x))
	for i := range x {
		x[i] /= length
	}
}
