package vq

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/gradtest"
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
