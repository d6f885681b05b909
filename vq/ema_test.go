package vq

import (
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
	c.Codes, c.Average = 2, Average{Decay: 0.9, Epsilon: 0.5, Every: 1}
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

	set["level0/state/counts"].Data = []float32{3.8, 1}
	set["level0/state/sums"].Data = []float32{0.3, 10.2}
	host := c.Averages(set.Sub("level0"))
	gradtest.Close(t, "host", []float64{float64(host[0]), float64(host[1])}, got[2], 1e-6)
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

// Outside training nothing is averaged; under a transform the codes are solved
// for on the host, so the graph must leave them alone.
func TestWhoUpdatesAveragedCodes(t *testing.T) {
	plain := small(t, "ema", 1)
	mixed := small(t, "grit", 1)
	mixed.Learn = "ema"
	bare := mixed // the identity with a feature map configured has no W
	bare.Mix.Kind, bare.Mix.FeatureMap = transform.KindIdentity, true
	normed := mixed
	normed.Mix.Kind, normed.Mix.RowNorm = transform.KindIdentity, transform.RowNormGain
	for name, test := range map[string]struct {
		c        Config
		training bool
		inGraph  bool
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
			if got := out.Updates["level0/codes"] != nil; got != test.inGraph {
				t.Errorf("%s: the graph updates codes: %v", name, got)
			}
			if got := out.Updates["level0/state/sums"] != nil; got != test.training {
				t.Errorf("%s: the graph updates averages: %v", name, got)
			}
			return []*graph.Node{out.Hard}
		})
		if test.training && test.c.SolvesAverages() == test.inGraph {
			t.Errorf("%s: codes are updated by both host and graph, or by neither", name)
		}
	}
}

// Placing codes on their averages puts C' on the means, through W and the mixer.
func TestPlacedAveragesReachTheMeans(t *testing.T) {
	for _, parts := range []int{1, 2} {
		c := small(t, "grit", 2)
		c.Learn, c.Parts = "ema", parts
		f := newFixture(t, c, 3*parts, 4)
		layout := f.q.Layout()
		var want [][]float64
		for position := range layout.Positions() {
			path := "level" + string(rune('0'+position%2))
			if parts == 2 {
				path = "part" + string(rune('0'+position/2)) + "/" + path
			}
			means := c.Averages(f.set.Sub(path))
			row := make([]float64, len(means))
			for i := range means {
				means[i] += float32(i) / 50 // away from where the codes already are
				row[i] = float64(means[i])
			}
			want = append(want, row)
			if _, err := f.q.Place(f.set, position, []int{0, 1, 2, 3, 4, 5}, means, transform.Average); err != nil {
				t.Fatal(err)
			}
		}
		got := f.eval32(t, func(ctx *Context, _ *graph.Node) []*graph.Node { return f.q.Codebooks(ctx) })
		for position := range got {
			gradtest.Close(t, "usable codes", got[position], want[position], 1e-5)
		}
	}
}

// A reset makes the running averages of its rows forget, and of no other row;
// following an average does not.
func TestResetRestartsAverages(t *testing.T) {
	f := newFixture(t, small(t, "ema", 1), 2, 4)
	n, m := f.set["level0/state/counts"], f.set["level0/state/sums"]
	for i := range n.Data {
		n.Data[i], m.Row(i)[0], m.Row(i)[1] = float32(10+i), float32(20+i), float32(30+i)
	}
	if _, err := f.q.Place(f.set, 0, []int{2}, []float32{8, 9}, transform.Average); err != nil {
		t.Fatal(err)
	}
	if n.Data[2] != 12 || m.Row(2)[0] != 22 {
		t.Error("following an average restarted it")
	}
	if _, err := f.q.Place(f.set, 0, []int{3, 5}, []float32{1, 2, 3, 4}, transform.Reset); err != nil {
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
