package vq

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"
)

func search(t *testing.T, z, codes gradtest.Value) []float64 {
	t.Helper()
	return gradtest.Eval[float32](t, gradtest.Inputs{"z": z, "codes": codes}, func(in map[string]*graph.Node) []*graph.Node {
		return []*graph.Node{Nearest(in["z"], in["codes"])}
	})[0]
}

func TestNearestBreaksTiesTowardsTheLowestCode(t *testing.T) {
	codes := gradtest.Value{Shape: []int{4, 2}, Data: []float64{5, 5, 1, 0, -1, 0, 1, 0}}
	z := gradtest.Value{Shape: []int{3, 2}, Data: []float64{0, 0, 2, 0, -2, 0}}
	sameBits(t, "index", search(t, z, codes), []float64{1, 1, 2})
}

// Beyond searchBlock codes the search goes block by block; equal codes in
// different blocks must still yield the first.
func TestNearestOverSeveralBlocks(t *testing.T) {
	const k, d, n = 2*searchBlock + 5, 3, 40
	rng := rand.New(rand.NewPCG(1, 2))
	codes, z := random(rng, k, d), random(rng, n, d)
	winners := []int{3, searchBlock - 1, searchBlock, 2 * searchBlock, k - 1}
	for i, code := range winners { // latents that sit on a code of each block
		copy(z.Data[i*d:(i+1)*d], codes.Data[code*d:(code+1)*d])
	}
	copy(codes.Data[(k-2)*d:(k-1)*d], codes.Data[3*d:4*d]) // a later twin of code 3
	got := search(t, z, codes)
	for i, want := range winners {
		if int(got[i]) != want {
			t.Errorf("latent on code %d got code %v", want, got[i])
		}
	}
	agrees(t, z, codes, got)
}

func TestNearestAgreesWithBruteForceAndTheIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	codes, z := random(rng, 500, 12), random(rng, 300, 12)
	agrees(t, z, codes, search(t, z, codes))
}

// agrees compares with brute force in float64 and with the host index; a
// different code is allowed only where two codes are within 1e-5 of each other.
func agrees(t *testing.T, z, codes gradtest.Value, got []float64) {
	t.Helper()
	book, d := matrix{codes.Data, codes.Shape[1]}, codes.Shape[1]
	rows, packed := make([]float32, len(z.Data)), make([]float32, len(codes.Data))
	for i, x := range z.Data {
		rows[i] = float32(x)
	}
	for i, x := range codes.Data {
		packed[i] = float32(x)
	}
	onHost, err := index.NewCodes(packed, codes.Shape[0], d)
	if err != nil {
		t.Fatal(err)
	}
	chosen := make([]uint32, z.Shape[0])
	onHost.Nearest(rows, z.Shape[0], chosen, nil, 1)
	for i := range z.Shape[0] {
		x := z.Data[i*d : (i+1)*d]
		reference := nearest(x, book)
		if int(chosen[i]) != reference {
			t.Errorf("latent %d: the index says %d, brute force %d", i, chosen[i], reference)
		}
		if int(got[i]) == reference {
			continue
		}
		best, other := distance(x, book.row(reference)), distance(x, book.row(int(got[i])))
		if other-best > 1e-5*best {
			t.Errorf("latent %d: code %v at %g, but code %d is at %g", i, got[i], other, reference, best)
		}
	}
}

func distance(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(sum)
}

func TestTakeAddsUpGradientsOfRepeatedCodes(t *testing.T) {
	in := gradtest.Inputs{
		"codes": {Shape: []int{3, 2}, Data: []float64{1, 2, 3, 4, 5, 6}},
		"g":     {Shape: []int{4, 2}, Data: []float64{1, 10, 2, 20, 4, 40, 8, 80}},
	}
	values := gradtest.Eval[float64](t, in, func(in map[string]*graph.Node) []*graph.Node {
		at := graph.Const(in["codes"].Graph(), []int32{2, 0, 2, 2})
		rows := Take(in["codes"], at)
		return []*graph.Node{rows, graph.Gradient(graph.ReduceAllSum(graph.Mul(rows, in["g"])), in["codes"])[0]}
	})
	sameBits(t, "rows", values[0], []float64{5, 6, 1, 2, 5, 6, 5, 6})
	sameBits(t, "gradient", values[1], []float64{2, 20, 0, 0, 13, 130})
}

func TestCountsAndSums(t *testing.T) {
	in := gradtest.Inputs{"z": {Shape: []int{3, 2}, Data: []float64{1, 2, 3, 4, 5, 6}}}
	values := gradtest.Eval[float64](t, in, func(in map[string]*graph.Node) []*graph.Node {
		counts, sums := (&Context{}).countsAndSums(graph.Const(in["z"].Graph(), []int32{1, 3, 1}), in["z"], 4)
		return []*graph.Node{counts, sums}
	})
	sameBits(t, "counts", values[0], []float64{0, 2, 0, 1})
	sameBits(t, "sums", values[1], []float64{0, 0, 6, 8, 0, 0, 3, 4})
}

// By angle (3,1) is nearer to (10,0), by distance to (0.6,0.6); the output is the
// chosen code's direction, and a running mean turns the code towards the latents.
func TestCosineComparesDirections(t *testing.T) {
	for _, method := range []string{"ste", "ema", "rotation", "grit"} {
		for distance, want := range map[string]float64{Euclidean: 1, Cosine: 0} {
			c := small(t, method, 1)
			c.Codes, c.Distance = 2, distance
			c.Transform = transform.None()
			q, err := New(c, 2)
			if err != nil {
				t.Fatal(err)
			}
			set, err := q.Init(Latents{Rows: []float32{1, 0, 0, 1, 1, 1}, N: 3, Dim: 2}, weights.Rand(1, "codes"))
			if err != nil {
				t.Fatal(err)
			}
			in := gradtest.Inputs{"z": {Shape: []int{1, 2}, Data: []float64{3, 1}}}
			for path, a := range set {
				v := gradtest.Value{Shape: a.Shape}
				for _, x := range a.Data {
					v.Data = append(v.Data, float64(x))
				}
				in[path] = v
			}
			in["level0/codes"] = gradtest.Value{Shape: []int{2, 2}, Data: []float64{10, 0, 0.6, 0.6}}
			if method == "ema" {
				in["level0/state/counts"] = gradtest.Value{Shape: []int{2}, Data: []float64{1, 1}}
				in["level0/state/sums"] = in["level0/codes"]
			}
			got := gradtest.Eval[float64](t, in, func(in map[string]*graph.Node) []*graph.Node {
				out := q.Build(&Context{Vars: weights.FromNodes(in), Training: true}, in["z"])
				nodes := []*graph.Node{graph.ConvertDType(out.Index, in["z"].DType()), out.Hard}
				if codes, ok := out.Updates["level0/codes"]; ok {
					nodes = append(nodes, codes)
				}
				return nodes
			})
			if got[0][0] != want {
				t.Errorf("%s, %s: code %v, want %v", method, distance, got[0][0], want)
			}
			if distance == Cosine {
				gradtest.Close(t, method+" output", got[1], []float64{1, 0}, 1e-6)
				if method == "ema" {
					// Decay 0.99 of (10,0) and the rest of the latent's direction.
					x, y := 9.9+0.01*3/math.Sqrt(10), 0.01/math.Sqrt(10)
					gradtest.Close(t, "direction of the mean", []float64{got[2][1] / got[2][0]}, []float64{y / x}, 1e-6)
				}
			}
		}
	}
}
