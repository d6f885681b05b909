package vq

import (
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/google/go-cmp/cmp"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// z + sg[ẑ - z] computed literally loses bits of ẑ when |z| is much larger; the
// estimator must not.
func TestStraightThroughForwardIsTheCodeToTheBit(t *testing.T) {
	in := gradtest.Inputs{
		"z":    {Shape: []int{2, 2}, Data: []float64{1e7, -3e8, 0.1, 5}},
		"code": {Shape: []int{2, 2}, Data: []float64{0.123456789, 1.7e-5, 0.2, 5}},
	}
	got := gradtest.Eval[float32](t, in, func(in map[string]*graph.Node) []*graph.Node {
		return []*graph.Node{straightThrough{}.Connect(nil, in["z"], in["code"], nil), in["code"]}
	})
	sameBits(t, "forward", got[0], got[1])
}

func TestStraightThroughGradientGoesToTheLatentAlone(t *testing.T) {
	rng := newRand(1)
	in := gradtest.Inputs{"z": random(rng, 3, 2), "code": random(rng, 3, 2), "g": random(rng, 3, 2)}
	got := gradtest.Autodiff[float64](t, in, func(in map[string]*graph.Node) *graph.Node {
		zq := straightThrough{}.Connect(nil, in["z"], in["code"], nil)
		return graph.ReduceAllSum(graph.Mul(graph.Square(zq), in["g"]))
	})
	var want []float64
	for i, g := range in["g"].Data {
		want = append(want, 2*g*in["code"].Data[i])
	}
	gradtest.Close(t, "latent", got["z"], want, 1e-12)
	sameBits(t, "code", got["code"], make([]float64, 6))
}

// rqvae is ste with TIGER's published differences: a start on one batch of the
// untrained encoder, and no resets.
func TestRQVAEDiffersFromSTEAsPublished(t *testing.T) {
	ste, rqvae := STE.Config(), RQVAE.Config()
	if rqvae.Start.From != "kmeans" || rqvae.Start.Sample != 1024 || rqvae.Start.Warmup != 0 || rqvae.Resets.Every != 0 {
		t.Errorf("start %+v, resets %+v", rqvae.Start, rqvae.Resets)
	}
	if rqvae.Loss.Codebook != 1 || rqvae.Loss.Commitment != 0.25 {
		t.Errorf("losses %+v", rqvae.Loss)
	}
	ste.Method, ste.Start.Warmup, ste.Start.Sample, ste.Resets.Every = "rqvae", 0, 1024, 0
	if diff := cmp.Diff(ste, rqvae); diff != "" {
		t.Errorf("other differences (-ste +rqvae):\n%s", diff)
	}
}

// Losses add up over levels, and every level starts as k-means of the residuals
// of the ones before: with a code a latent, the second level has nothing to do.
func TestRQVAEStartsEveryLevelOnTheRest(t *testing.T) {
	c := RQVAE.Config()
	c.Codes, c.Levels = 12, 2
	q, sample, set := startFixture(t, c, 3, 12)
	f := fixture{q: q, set: set, z: gradtest.Value{Shape: []int{12, 3}, Data: make([]float64, 36)}}
	for i, x := range sample.Rows {
		f.z.Data[i] = float64(x)
	}
	second := widen(set["level1/codes"]).Data
	gradtest.Close(t, "second level", second, make([]float64, len(second)), 1e-9)
	for i := range set["level1/codes"].Data { // the loss of a level is not averaged away
		set["level1/codes"].Data[i] = 2
	}
	loss := lossOf(t, f)
	gradtest.Close(t, "loss", []float64{loss}, []float64{1.25 * 4}, 1e-5)
}

func lossOf(t *testing.T, f fixture) float64 {
	t.Helper()
	return f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node { return []*graph.Node{f.q.Build(ctx, z).Loss} })[0][0]
}

// Every part starts as k-means of its own slice, the decoder's gradient passes
// straight through, codes get none, and the encoder is pulled to its codes.
func TestKMeansSTEFormula(t *testing.T) {
	const n, d = 30, 4
	c := KMeansSTE.Config()
	if c.Parts != 4 || c.Levels != 1 {
		t.Fatalf("%d parts of %d levels", c.Parts, c.Levels)
	}
	c.Codes, c.Parts = 3, 2
	f := newFixture(t, c, d, n)
	weight := random(newRand(3), n, d)
	got, single, in := gradients(t, f, weight, 1), gradients32(t, f, weight), f.inputs()
	want, loss := append([]float64(nil), weight.Data...), 0.0
	for r := range n {
		for part, path := range []string{"part0/level0/codes", "part1/level0/codes"} {
			codes := matrix{in[path].Data, 2}
			slice := f.z.Data[r*d+2*part : r*d+2*part+2]
			for j, x := range codes.row(nearest(slice, codes)) {
				gap := slice[j] - x
				loss += 0.25 * gap * gap / (n * d)
				want[r*d+2*part+j] += 0.25 * 2 * gap / (n * d)
			}
			if g := got[path]; dot(g, g) != 0 {
				t.Errorf("%s receives a gradient", path)
			}
		}
	}
	gradtest.Close(t, "latents", got["z"], want, 1e-9)
	gradtest.Close(t, "latents in float32", single["z"], want, 1e-3)
	gradtest.Close(t, "loss", []float64{lossOf(t, f)}, []float64{loss}, 1e-5)
}

// On a batch that keeps coming, codes settle where k-means has them: at the mean
// of the latents that choose them.
func TestKMeansSTECodesSettleAtMeans(t *testing.T) {
	c := KMeansSTE.Config()
	c.Codes, c.Parts, c.Average.Decay = 3, 2, 0.5
	f := newFixture(t, c, 4, 40) // codes start a little off their means
	for range 60 {
		paths := []string{}
		values := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
			out := f.q.Build(ctx, z)
			var nodes []*graph.Node
			for path, value := range out.Updates {
				paths, nodes = append(paths, path), append(nodes, value)
			}
			return append(nodes, out.Loss)
		})
		for i, path := range paths {
			for j, x := range values[i] {
				f.set[path].Data[j] = float32(x)
			}
		}
	}
	in := f.inputs()
	for part, path := range []string{"part0/level0/codes", "part1/level0/codes"} {
		codes := matrix{in[path].Data, 2}
		means, counts := matrix{make([]float64, 6), 2}, make([]float64, 3)
		for r := range 40 {
			slice := f.z.Data[r*4+2*part : r*4+2*part+2]
			at := nearest(slice, codes)
			counts[at]++
			for j, x := range slice {
				means.row(at)[j] += x
			}
		}
		for i, n := range counts {
			if n == 0 {
				t.Fatalf("%s: code %d is not used", path, i)
			}
			means.row(i)[0] /= n
			means.row(i)[1] /= n
		}
		gradtest.Close(t, path, codes.data, means.data, 1e-3)
	}
}
