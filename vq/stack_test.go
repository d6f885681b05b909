package vq

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// A product quantizer is its parts side by side: outputs and residuals
// concatenated part after part, losses and statistics averaged, updates kept
// under the part's own path.
func TestProductEqualsItsParts(t *testing.T) {
	for _, method := range []string{"grit", "ste", "ema"} {
		c := small(t, method, 2)
		c.Parts, c.Loss.Codebook, c.Loss.Commitment = 2, 1, 0.25
		f := newFixture(t, c, 6, 13)
		alone, err := New(func() Config { c := c; c.Parts = 1; return c }(), 3)
		if err != nil {
			t.Fatal(err)
		}
		var updates []string
		got := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
			out := f.q.Build(ctx, z)
			var parts []Output
			for i := range 2 {
				slice := graph.Slice(z, graph.AxisRange(), graph.AxisRange(3*i, 3*i+3))
				parts = append(parts, alone.Build(ctx.in(partPath(i)), slice))
			}
			pair := func(get func(Output) *graph.Node) *graph.Node {
				return graph.Concatenate([]*graph.Node{get(parts[0]), get(parts[1])}, -1)
			}
			nodes := []*graph.Node{
				out.Hard, pair(func(o Output) *graph.Node { return o.Hard }),
				out.Soft, pair(func(o Output) *graph.Node { return o.Soft }),
				out.Index, pair(func(o Output) *graph.Node { return o.Index }),
				out.Loss, graph.MulScalar(graph.Add(parts[0].Loss, parts[1].Loss), 0.5),
				out.Stats["gap"], graph.MulScalar(graph.Add(parts[0].Stats["gap"], parts[1].Stats["gap"]), 0.5),
			}
			for position, residual := range out.Residuals {
				nodes = append(nodes, residual, parts[position/2].Residuals[position%2])
			}
			for i, part := range parts {
				for path, value := range part.Updates {
					if out.Updates[path] == nil {
						panic(fmt.Sprintf("part %d: no update of %q", i, path))
					}
					updates = append(updates, path)
					nodes = append(nodes, out.Updates[path], value)
				}
			}
			return nodes
		})
		for i := 0; i < len(got); i += 2 {
			sameBits(t, fmt.Sprintf("%s output %d", method, i/2), got[i], got[i+1])
		}
		if want := map[string]int{"ema": 12}[method]; len(updates) != want {
			t.Errorf("%s: %d updates, want %d", method, len(updates), want)
		}
	}
}

// Codes of one part never see the gradient of another part's slice.
func TestProductGradientsStayInTheirPart(t *testing.T) {
	c := small(t, "grit", 2)
	c.Parts = 2
	f := newFixture(t, c, 6, 13)
	weight := random(newRand(3), 13, 6)
	for i := range weight.Data { // nothing arrives at the second part
		if i%6 >= 3 {
			weight.Data[i] = 0
		}
	}
	for name, g := range gradients(t, f, weight, 0) {
		moves := dot(g, g) > 0
		if len(name) > 6 && name[:6] == "part1/" && moves {
			t.Errorf("%s moves although its slice has no gradient", name)
		}
		if (name == "part0/level0/codes" || name == "part0/level1/codes") && !moves {
			t.Errorf("%s does not move", name)
		}
	}
}

// Place addresses one position: the code lands on its target, no other usable
// code of any position changes, and the touched rows carry full paths.
func TestPlaceMovesOnePositionOnly(t *testing.T) {
	for _, parts := range []int{1, 2} {
		c := small(t, "grit", 2)
		c.Parts = parts
		dim := 3 * parts
		f := newFixture(t, c, dim, 4)
		books := func() [][]float64 {
			return f.eval32(t, func(ctx *Context, _ *graph.Node) []*graph.Node { return f.q.Codebooks(ctx) })
		}
		before := books()
		position := f.q.Layout().Positions() - 1 // last part, last level
		targets := []float32{1, 2, 3, -1, -2, -3}
		touched, err := Place(f.q, f.set, position, []int{4, 1}, targets)
		if err != nil {
			t.Fatal(err)
		}
		prefix := "level1/"
		if parts == 2 {
			prefix = "part1/level1/"
		}
		want := map[Touched]bool{
			{Path: prefix + "codes", Row: 4}: true, {Path: prefix + "codes", Row: 1}: true,
			{Path: prefix + "mixer/a", Row: 4}: true, {Path: prefix + "mixer/a", Row: 1}: true,
		}
		for _, at := range touched {
			if !want[at] {
				t.Errorf("%+v was touched", at)
			}
			delete(want, at)
		}
		if len(want) > 0 {
			t.Errorf("not touched: %v", want)
		}
		after := books()
		for p := range after {
			for i := range 6 {
				row, old := after[p][3*i:3*i+3], before[p][3*i:3*i+3]
				switch {
				case p == position && i == 4:
					gradtest.Close(t, "placed", row, []float64{1, 2, 3}, 1e-5)
				case p == position && i == 1:
					gradtest.Close(t, "placed", row, []float64{-1, -2, -3}, 1e-5)
				default:
					sameBits(t, "other code", row, old)
				}
			}
		}
	}
}

func TestLayoutPaths(t *testing.T) {
	for name, c := range map[string]struct {
		layout Layout
		paths  []string
		books  [][]int
	}{
		"levels": {Layout{Parts: 1, Levels: 3}, []string{"level0", "level1", "level2"}, [][]int{{0}, {1}, {2}}},
		"parts": {Layout{Parts: 2, Levels: 2}, []string{"part0/level0", "part0/level1", "part1/level0", "part1/level1"},
			[][]int{{0}, {1}, {2}, {3}}},
		"shared": {Layout{Parts: 2, Levels: 2, Shared: true}, []string{"part0/level0", "part0/level0", "part1/level0", "part1/level0"},
			[][]int{{0, 1}, {2, 3}}},
	} {
		var paths []string
		for position := range c.layout.Positions() {
			paths = append(paths, c.layout.Path(position))
		}
		if !slices.Equal(paths, c.paths) || !reflect.DeepEqual(c.layout.Books(), c.books) {
			t.Errorf("%s: paths %v, books %v", name, paths, c.layout.Books())
		}
	}
}

// Variables that only training needs are recognised below any prefix.
func TestTrainingOnly(t *testing.T) {
	c := small(t, "grit", 1)
	c.Learn, c.Loss.Commitment = "ema", 0.25
	c.Cache = Cache{Period: 4, Gradient: "accumulate"}
	f := newFixture(t, c, 3, 4)
	var kept, dropped []string
	for _, p := range f.set.Paths() {
		if TrainingOnly(Prefix + "/" + p) {
			dropped = append(dropped, p)
		} else {
			kept = append(kept, p)
		}
	}
	want := []string{"level0/state/cache", "level0/state/cache_gradient", "level0/state/counts"}
	if !TrainingOnly(Prefix+"/level1/state/sums") || !slices.Equal(dropped, want) ||
		!slices.Contains(kept, "level0/codes") || !slices.Contains(kept, "level0/state/source") {
		t.Errorf("dropped %v, kept %v", dropped, kept)
	}
}
