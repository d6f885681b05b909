package vq

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"
)

// Two codes, three latents, decay 0.9, ε = 0.5, by hand: the first two latents
// choose code 0, the third chooses code 1.
func TestAveragesByHand(t *testing.T) {
	c := small(t, "ema", 1)
	c.Codes, c.Average = 2, Average{Decay: 0.9, Epsilon: 0.5}
	q, err := New(c, 1)
	if err != nil {
		t.Fatal(err)
	}
	set := weights.Set{
		"level0/codes":        {Shape: []int{2, 1}, Data: []float32{0, 10}},
		"level0/state/counts": {Shape: []int{2}, Data: []float32{4, 1}},
		"level0/state/sums":   {Shape: []int{2, 1}, Data: []float32{0, 10}},
	}
	f := fixture{q: q, set: set, z: gradtest.Value{Shape: []int{3, 1}, Data: []float64{1, 2, 12}}}
	got := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
		u := q.Build(ctx, z).Updates
		return []*graph.Node{u["level0/state/counts"], u["level0/state/sums"], u["level0/codes"]}
	})
	// N = 0.9·[4,1] + 0.1·[2,1] = [3.8, 1]; m = 0.9·[0,10] + 0.1·[3,12] = [0.3, 10.2];
	// ΣN = 4.8, Ñ = (N+0.5)/(4.8+2·0.5)·4.8 = [3.558621, 1.241379].
	gradtest.Close(t, "counts", got[0], []float64{3.8, 1}, 1e-6)
	gradtest.Close(t, "sums", got[1], []float64{0.3, 10.2}, 1e-6)
	gradtest.Close(t, "codes", got[2], []float64{0.3 / 3.5586207, 10.2 / 1.2413793}, 1e-6)
}

// The averages begin at the codes: N from the clustering, m = N·E.
func TestAveragesStartAtTheCodes(t *testing.T) {
	codes := &weights.Array{Shape: []int{3, 2}, Data: []float32{1, 2, 3, 4, 5, 6}}
	for name, test := range map[string]struct {
		counts []int
		n      []float32
	}{
		"unknown":   {nil, []float32{1, 1, 1}},
		"clustered": {[]int{7, 0, 2}, []float32{7, 1, 2}},
	} {
		set := averageInit(codes, test.counts)
		for i, n := range test.n {
			if set["state/counts"].Data[i] != n {
				t.Errorf("%s: count %d is %g, want %g", name, i, set["state/counts"].Data[i], n)
			}
			for j, x := range codes.Row(i) {
				if got := set["state/sums"].Row(i)[j]; got != x*n {
					t.Errorf("%s: sum %d,%d is %g, want %g", name, i, j, got, x*n)
				}
			}
		}
	}
}

// Outside training nothing is averaged. Codes under a transform are pulled, which
// needs counts but no sums.
func TestWhoUpdatesAveragedCodes(t *testing.T) {
	plain := small(t, "ema", 1)
	mixed := small(t, "grit", 1)
	mixed.Learn = "ema"
	bare := mixed // the identity with a feature map configured has no W
	bare.Transform.Kind, bare.Transform.FeatureMap = transform.KindIdentity, true
	normed := mixed
	normed.Transform.Kind, normed.Transform.RowNorm = transform.KindIdentity, transform.RowNormGain
	for name, test := range map[string]struct {
		c              Config
		training, sums bool
	}{
		"plain":              {plain, true, true},
		"plain, inference":   {plain, false, false},
		"linear":             {mixed, true, false},
		"identity":           {bare, true, true},
		"identity with gain": {normed, true, false},
	} {
		f := newFixture(t, test.c, 3, 4)
		f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
			ctx.Training = test.training
			out := f.q.Build(ctx, z)
			if got := out.Updates["level0/codes"] != nil; got != test.training {
				t.Errorf("%s: the graph updates codes: %v", name, got)
			}
			if got := out.Updates["level0/state/sums"] != nil; got != test.sums {
				t.Errorf("%s: the graph updates sums: %v", name, got)
			}
			return []*graph.Node{out.Hard}
		})
	}
}

// Averaged codes under a transform keep what it learned: codes that meet their
// latents stay where the transform put them, whatever E itself is.
func TestAveragedCodesKeepTheTransform(t *testing.T) {
	c := small(t, "grit", 1)
	c.Learn = "ema"
	f := newFixture(t, c, 3, 6)
	books := f.eval32(t, func(ctx *Context, _ *graph.Node) []*graph.Node { return f.q.Codebooks(ctx) })
	copy(f.z.Data, books[0]) // every latent is a usable code
	got := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
		return []*graph.Node{f.q.Build(ctx, z).Updates["level0/codes"], ctx.Vars.Get("level0/codes")}
	})
	gradtest.Close(t, "raw codes", got[0], got[1], 1e-5)
}

// A reset makes the running averages of its rows forget, and of no other row.
func TestResetRestartsAverages(t *testing.T) {
	f := newFixture(t, small(t, "ema", 1), 2, 4)
	n, m := f.set["level0/state/counts"], f.set["level0/state/sums"]
	for i := range n.Data {
		n.Data[i], m.Row(i)[0], m.Row(i)[1] = float32(10+i), float32(20+i), float32(30+i)
	}
	if _, err := Place(f.q, f.set, 0, []int{3, 5}, []float32{1, 2, 3, 4}); err != nil {
		t.Fatal(err)
	}
	for i := range n.Data {
		count, sum := float32(10+i), []float32{float32(20 + i), float32(30 + i)}
		switch i {
		case 3:
			count, sum = 1, []float32{1, 2}
		case 5:
			count, sum = 1, []float32{3, 4}
		}
		if n.Data[i] != count || m.Row(i)[0] != sum[0] || m.Row(i)[1] != sum[1] {
			t.Errorf("row %d: count %g, sum %v", i, n.Data[i], m.Row(i))
		}
	}
}

// A code that is pulled all the way goes where running averages go from the same
// place, and one that nothing chose stays.
func TestPulledCodesGoWhereAveragesGo(t *testing.T) {
	pulled, averaged := small(t, "ste", 1), small(t, "ema", 1)
	pulled.Codes, averaged.Codes = 3, 3
	pulled.Average = Average{Decay: 0.9, Epsilon: 1e-7, Pull: 1}
	averaged.Average = Average{Decay: 0.9, Epsilon: 1e-7}
	codes := []float32{0, 10, -30}
	latents := gradtest.Value{Shape: []int{3, 1}, Data: []float64{1, 2, 12}}
	var got [2][][]float64
	for i, c := range []Config{pulled, averaged} {
		q, err := New(c, 1)
		if err != nil {
			t.Fatal(err)
		}
		set := weights.Set{
			"level0/codes":        {Shape: []int{3, 1}, Data: codes},
			"level0/state/counts": {Shape: []int{3}, Data: []float32{4, 1, 2}},
			"level0/state/sums":   {Shape: []int{3, 1}, Data: []float32{0, 10, -60}},
		}
		got[i] = fixture{q: q, set: set, z: latents}.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
			u := q.Build(ctx, z).Updates
			return []*graph.Node{u["level0/state/counts"], u["level0/codes"]}
		})
	}
	gradtest.Close(t, "counts", got[0][0], got[1][0], 1e-6)
	gradtest.Close(t, "codes", got[0][1], got[1][1], 1e-5)
	// N = 0.9·4 + 0.1·2 = 3.8, and 0.1·(1+2)/3.8 of the way from 0.
	gradtest.Close(t, "by hand", got[0][1][:1], []float64{0.3 / 3.8}, 1e-5)
}

// Under a transform the usable codes C' take the step, as far along it as without
// a transform, for any size of W. An orthogonal W takes exactly that step.
func TestPullReachesUsableCodes(t *testing.T) {
	for name, w := range map[string][]float32{
		"turned": {0.6, 0.8, -0.8, 0.6}, "turned and longer": {1.2, 1.6, -1.6, 1.2}, "skewed": {1, 0.4, 0, 0.7},
	} {
		plain, mixed := small(t, "ste", 1), small(t, "grit", 1)
		plain.Codes, mixed.Codes = 4, 4
		plain.Average.Pull, mixed.Average.Pull = 0.5, 0.5
		mixed.Transform.Rank = 1
		z := gradtest.Value{Shape: []int{5, 2}, Data: []float64{0.1, 0.2, 1.1, -0.3, 0.9, 0.1, -2, 0.5, -1.7, 0.3}}
		f := newFixture(t, mixed, 2, 5)
		f.z = z
		copy(f.set["level0/feature/w"].Data, w)
		var before, after, step [][]float64
		before = f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
			return []*graph.Node{f.q.(*Residual).levels[0].Usable(ctx.in("level0"))}
		})
		moved := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
			return []*graph.Node{f.q.Build(ctx, z).Updates["level0/codes"]}
		})
		p, err := New(plain, 2)
		if err != nil {
			t.Fatal(err)
		}
		bare := weights.Set{"level0/codes": weights.New(4, 2), "level0/state/counts": f.set["level0/state/counts"]}
		for i, x := range before[0] {
			bare["level0/codes"].Data[i] = float32(x)
		}
		step = fixture{q: p, set: bare, z: z}.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
			return []*graph.Node{p.Build(ctx, z).Updates["level0/codes"]}
		})
		for i, x := range moved[0] {
			f.set["level0/codes"].Data[i] = float32(x)
		}
		after = f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
			return []*graph.Node{f.q.(*Residual).levels[0].Usable(ctx.in("level0"))}
		})
		dot, square, off := 0.0, 0.0, 0.0
		for i := range before[0] {
			want, got := step[0][i]-before[0][i], after[0][i]-before[0][i]
			dot, square, off = dot+want*got, square+want*want, max(off, math.Abs(want-got))
		}
		if square == 0 || math.Abs(dot/square-1) > 1e-4 {
			t.Errorf("%s: usable codes went %g of the way", name, dot/square)
		}
		if name != "skewed" && off > 1e-5 {
			t.Errorf("%s: usable codes are %g off", name, off)
		}
	}
}
