package nn

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// dropped applies dropout to ones [40, 50, 20] and returns it with its gradient.
func dropped(t *testing.T, seed int64, rate float64, shared ...int) (values, gradient []float64) {
	in := gradtest.Inputs{"x": {Shape: []int{40, 50, 20}, Data: slices.Repeat([]float64{1}, 40*50*20)}}
	got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		random := NewRandom(graph.RNGStateFromSeedForGraph(nodes["x"].Graph(), seed))
		y := random.Dropout(nodes["x"], rate, shared...)
		return append([]*graph.Node{y}, graph.Gradient(graph.ReduceAllSum(y), nodes["x"])...)
	})
	return got[0], got[1]
}

// The share of dropped values is the rate, the others are scaled up, and the
// gradient is dropped alike.
func TestDropout(t *testing.T) {
	for _, rate := range []float64{0.1, 0.5, 0.9} {
		y, gradient := dropped(t, 1, rate)
		zeros := 0
		for i, value := range y {
			if value == 0 {
				zeros++
			} else if math.Abs(value*(1-rate)-1) > 1e-6 {
				t.Fatalf("rate %g: a kept 1 became %g", rate, value)
			}
			if gradient[i] != value {
				t.Fatalf("rate %g: the gradient is %g where 1 became %g", rate, gradient[i], value)
			}
		}
		// Five standard deviations of a binomial share.
		share := float64(zeros) / float64(len(y))
		if bound := 5 * math.Sqrt(rate*(1-rate)/float64(len(y))); math.Abs(share-rate) > bound {
			t.Errorf("rate %g: %g of the values were dropped, more than %g off", rate, share, bound)
		}
	}
}

func TestDropoutIsSeeded(t *testing.T) {
	a, _ := dropped(t, 7, 0.5)
	same, _ := dropped(t, 7, 0.5)
	other, _ := dropped(t, 8, 0.5)
	if !slices.Equal(a, same) {
		t.Error("one seed drops different values")
	}
	if slices.Equal(a, other) {
		t.Error("two seeds drop the same values")
	}
}

// Along a shared axis all are kept or all are dropped; other axes are drawn
// independently.
func TestDropoutShares(t *testing.T) {
	y, _ := dropped(t, 1, 0.5, 1)
	columns := map[bool]int{}
	for n := range 40 {
		for c := range 20 {
			first := y[n*50*20+c]
			columns[first == 0]++
			for place := range 50 {
				if y[(n*50+place)*20+c] != first {
					t.Fatalf("sequence %d, component %d: places differ", n, c)
				}
			}
		}
	}
	if columns[true] < 300 || columns[false] < 300 { // of 800: seven standard deviations
		t.Errorf("of 800 columns %d were dropped", columns[true])
	}
}

// Draws of one step differ; without a source or a rate nothing changes.
func TestDropoutDrawsAnew(t *testing.T) {
	in := gradtest.Inputs{"x": {Shape: []int{200}, Data: slices.Repeat([]float64{1}, 200)}}
	got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		x := nodes["x"]
		random := NewRandom(graph.RNGStateFromSeedForGraph(x.Graph(), 3))
		if random.Dropout(x, 0) != x || (*Random)(nil).Dropout(x, 0.5) != x {
			t.Error("dropout touched x where it must not")
		}
		return []*graph.Node{random.Dropout(x, 0.5), random.Dropout(x, 0.5)}
	})
	if slices.Equal(got[0], got[1]) {
		t.Error("two draws of one step are the same")
	}
}

// Attention drops weights and a feed-forward network hidden values. Both are
// linear in the dropped values, so that over many equal sequences the mean is
// the result without dropout.
func TestPartsDropOut(t *testing.T) {
	const batch, places, width = 3000, 3, 4
	a := Attention{Width: width, Heads: 2, HeadDim: 3}
	f := FeedForward{Width: width, Hidden: 8, Activation: "relu"}
	rng := weights.Rand(1, "parts")
	in := asInputs(weights.Set{}.Merge("attention", a.Init(rng)).Merge("feed", f.Init(rng)), 0)
	one := gaussian(rng, 1, places, width)
	in["x"] = gradtest.Value{Shape: []int{batch, places, width}, Data: slices.Repeat(one.Data, batch)}
	run := func(rate float64) [][]float64 {
		a.Dropout, f.Dropout = rate, rate
		return gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			v, x := weights.FromNodes(nodes), nodes["x"]
			random := NewRandom(graph.RNGStateFromSeedForGraph(x.Graph(), 1))
			return []*graph.Node{a.Build(v.In("attention"), x, x, View{}, random), f.Build(v.In("feed"), x, random)}
		})
	}
	plain, dropping := run(0), run(0.4)
	for part, name := range []string{"attention", "feed-forward"} {
		mean, changed := make([]float64, places*width), 0
		for n := range batch {
			own := dropping[part][n*places*width : (n+1)*places*width]
			for i, y := range own {
				mean[i] += y / batch
			}
			if gradtest.RelativeError(own, plain[part][:places*width]) > 0.01 {
				changed++
			}
		}
		gradtest.Close(t, name+": mean over dropped", mean, plain[part][:places*width], 0.06)
		if changed < batch/2 {
			t.Errorf("%s: dropout changed %d of %d sequences", name, changed, batch)
		}
	}
}

// From a pool no number is taken twice, whether draws fit into its rest or not,
// and small ones share a generator.
func TestPooledDraws(t *testing.T) {
	sizes := []int{1000, poolSize - 1500, 400, 200, poolSize + 7, 300}
	pools := 0
	got := gradtest.Eval[float32](t, gradtest.Inputs{"x": {Shape: []int{1}, Data: []float64{0}}},
		func(nodes map[string]*graph.Node) []*graph.Node {
			g := nodes["x"].Graph()
			random := &Random{state: graph.RNGStateFromSeedForGraph(g, 3), pools: true}
			var draws []*graph.Node
			var last *graph.Node
			for _, n := range sizes {
				draws = append(draws, graph.Reshape(random.uniform([]int{1, n}), n))
				if random.pool != last {
					pools++
				}
				last = random.pool
			}
			return draws
		})
	if pools != 4 { // the first three share one, the fourth and the last have their own, as has the large one
		t.Errorf("%d generators", pools)
	}
	repeated, all := 0, map[float64]bool{}
	for i, draw := range got {
		if len(draw) != sizes[i] {
			t.Fatalf("draw %d has %d numbers", i, len(draw))
		}
		sum := 0.0
		for _, x := range draw {
			if x < 0 || x >= 1 {
				t.Fatalf("%g was drawn", x)
			}
			sum += x
			if i != 1 && i != 4 { // among millions of float32 some are equal by chance
				if all[x] {
					repeated++
				}
				all[x] = true
			}
		}
		if mean := sum / float64(len(draw)); math.Abs(mean-0.5) > 5*math.Sqrt(1.0/12/float64(len(draw))) {
			t.Errorf("draw %d has a mean of %g", i, mean)
		}
	}
	if repeated > 2 {
		t.Errorf("%d numbers were drawn twice", repeated)
	}
}
