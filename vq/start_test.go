package vq

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"
)

func startFixture(t *testing.T, c Config, dim, n int) (Quantizer, Latents, weights.Set) {
	t.Helper()
	q, err := New(c, dim)
	if err != nil {
		t.Fatal(err)
	}
	rng := newRand(2)
	sample := Latents{Rows: weights.Normal(rng, 1, n, dim).Data, N: n, Dim: dim}
	set, err := q.Init(sample, rng)
	if err != nil {
		t.Fatal(err)
	}
	return q, sample, set
}

// Started from data, the first level's codes are distinct latents.
func TestStartFromDataTakesLatents(t *testing.T) {
	c := small(t, "ste", 1)
	_, sample, set := startFixture(t, c, 3, 40)
	taken := map[int]bool{}
	for i := range c.Codes {
		for r := range sample.N {
			if row := sample.Rows[r*3 : (r+1)*3]; row[0] == set["level0/codes"].Row(i)[0] && row[1] == set["level0/codes"].Row(i)[1] {
				taken[r] = true
			}
		}
	}
	if len(taken) != c.Codes {
		t.Errorf("%d distinct latents became codes, want %d", len(taken), c.Codes)
	}
}

// Fewer latents than codes: repeated latents must not stay equal codes, or the
// later twin would never be chosen.
func TestStartFromTooLittleDataSeparatesCodes(t *testing.T) {
	_, _, set := startFixture(t, small(t, "ste", 1), 3, 4)
	codes := set["level0/codes"]
	for i := range 6 {
		for j := range i {
			if codes.Row(i)[0] == codes.Row(j)[0] {
				t.Errorf("codes %d and %d are equal", i, j)
			}
		}
	}
}

func TestRandomStartIsSmallAndUniform(t *testing.T) {
	c := small(t, "ste", 1)
	c.Codes, c.Start.From = 50, "random"
	_, _, set := startFixture(t, c, 20, 10)
	largest, square := 0.0, 0.0
	for _, x := range set["level0/codes"].Data {
		largest = math.Max(largest, math.Abs(float64(x)))
		square += float64(x) * float64(x) / 1000
	}
	if largest > 1.0/50 || largest < 0.95/50 {
		t.Errorf("largest element %g, want nearly 1/K = 0.02", largest)
	}
	if want := 1.0 / 50 / 50 / 3; math.Abs(square/want-1) > 0.15 {
		t.Errorf("variance %g, want that of a uniform, %g", square, want)
	}
}

// k-means starts on the centres, and averages take over its counts.
func TestKMeansStartFindsClusters(t *testing.T) {
	c := small(t, "ema", 1)
	c.Codes, c.Start.From = 3, "kmeans"
	q, err := New(c, 2)
	if err != nil {
		t.Fatal(err)
	}
	sizes := []int{10, 30, 60}
	centres := [][2]float64{{0, 0}, {50, 0}, {0, 50}}
	var sample Latents
	rng := newRand(4)
	for i, size := range sizes {
		for range size {
			sample.Rows = append(sample.Rows, float32(centres[i][0]+rng.NormFloat64()), float32(centres[i][1]+rng.NormFloat64()))
			sample.N++
		}
	}
	sample.Dim = 2
	set, err := q.Init(sample, rng)
	if err != nil {
		t.Fatal(err)
	}
	for i, centre := range centres {
		found := false
		for k := range 3 {
			code := widen(set["level0/codes"]).Data[2*k : 2*k+2]
			if distance(code, centre[:]) < 1.5 {
				found = true
				if n := set["level0/state/counts"].Data[k]; int(n) != sizes[i] {
					t.Errorf("cluster %d starts with count %g, want %d", i, n, sizes[i])
				}
				sums := widen(set["level0/state/sums"]).Data[2*k : 2*k+2]
				gradtest.Close(t, "sums", sums, []float64{code[0] * float64(sizes[i]), code[1] * float64(sizes[i])}, 1e-6)
			}
		}
		if !found {
			t.Errorf("no code near centre %v: %v", centre, set["level0/codes"].Data)
		}
	}
}

// Every level starts on the residuals of the usable codes before it, also if the
// transform does not start at the raw codes.
func TestLevelsStartOnResiduals(t *testing.T) {
	for _, kind := range kinds {
		c := small(t, "grit", 2)
		c.Transform.Kind, c.Transform.RowNorm = kind, transform.RowNormGain
		c.Transform.Diagonal = 0.6
		q, sample, set := startFixture(t, c, 3, 60)
		latents := widen(&weights.Array{Shape: []int{60, 3}, Data: sample.Rows})
		f := fixture{q: q, set: set, z: latents}
		residual := matrix{f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
			return []*graph.Node{q.Build(ctx, z).Residuals[1]}
		})[0], 3}
		codes := matrix{widen(set["level1/codes"]).Data, 3}
		for i := range codes.rows() { // data start: each code is one of the residuals
			if gap := distance(codes.row(i), residual.row(nearest(codes.row(i), residual))); gap > 1e-5 {
				t.Errorf("%s: code %d of level 1 is %g away from any residual", kind, i, gap)
			}
		}
	}
}

// The default transform starts at C' = E, so that a k-means start survives.
func TestDefaultTransformStartsAtTheRawCodes(t *testing.T) {
	c := small(t, "grit", 2)
	q, _, set := startFixture(t, c, 3, 60)
	f := fixture{q: q, set: set, z: gradtest.Value{Shape: []int{1, 3}, Data: make([]float64, 3)}}
	for l, book := range f.eval32(t, func(ctx *Context, _ *graph.Node) []*graph.Node { return q.Codebooks(ctx) }) {
		sameBits(t, "codes", book, widen(set[[]string{"level0/codes", "level1/codes"}[l]]).Data)
	}
}

// Normalised latents: Prepare and the start work on unit vectors.
func TestLatentNormalisation(t *testing.T) {
	c := small(t, "grit", 1)
	c.Transform.RowNorm = transform.RowNormLatent
	q, _, set := startFixture(t, c, 3, 30)
	for i := range 6 {
		if length := norm(set["level0/codes"].Row(i)); math.Abs(length-1) > 1e-6 {
			t.Errorf("code %d starts with length %g", i, length)
		}
	}
	f := fixture{q: q, set: set, z: gradtest.Value{Shape: []int{1, 3}, Data: []float64{3, 0, 4}}}
	got := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
		return []*graph.Node{Prepare(q, z), q.Build(ctx, z).Residuals[0]}
	})
	gradtest.Close(t, "prepared", got[0], []float64{0.6, 0, 0.8}, 1e-6)
	sameBits(t, "what is quantized", got[1], got[0])
}

func TestInitRefusesAnotherDimension(t *testing.T) {
	for _, parts := range []int{1, 3} {
		c := small(t, "ste", 1)
		c.Parts = parts
		q, err := New(c, 3)
		if err != nil {
			t.Fatal(err)
		}
		_, err = q.Init(Latents{Rows: make([]float32, 8), N: 2, Dim: 4}, rand.New(rand.NewPCG(1, 1)))
		mentions(t, err, "dimension 4", "3")
	}
}
