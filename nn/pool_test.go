package nn

import (
	"fmt"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// Sizes as PyTorch's MaxPool2d gives them, floor and ceil_mode.
func TestMaxPoolSizes(t *testing.T) {
	for _, c := range []struct{ size, window, stride, floor, ceil int }{
		{7, 3, 2, 3, 3}, {8, 3, 2, 3, 4}, {6, 2, 2, 3, 3}, {7, 2, 2, 3, 4}, {111, 3, 2, 55, 55}, {56, 3, 2, 27, 28}, {3, 2, 3, 1, 1},
	} {
		in := gradtest.Inputs{"x": gaussian(weights.Rand(1, ""), 1, c.size, c.size, 1)}
		for _, ceil := range []bool{false, true} {
			want := c.floor
			if ceil {
				want = c.ceil
			}
			gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
				y := MaxPool(nodes["x"], c.window, c.stride, ceil)
				if d := y.Shape().Dimensions; d[1] != want || d[2] != want {
					t.Errorf("%+v, ceil %v: got %v", c, ceil, d)
				}
				return []*graph.Node{y}
			})
		}
	}
}

// Values and the gradient's place equal plain loops, ties included.
func TestMaxPoolEqualsLoops(t *testing.T) {
	for _, c := range []struct{ window, stride int }{{2, 2}, {3, 2}, {3, 1}, {2, 3}} {
		for _, ceil := range []bool{false, true} {
			rng := weights.Rand(3, "pool")
			in := gradtest.Inputs{"x": gaussian(rng, 2, 7, 8, 3)}
			x := in["x"]
			for i := range x.Data { // few values, so that many tie
				x.Data[i] = float64(int(x.Data[i] * 2))
			}
			var height, width int
			y := func(nodes map[string]*graph.Node) *graph.Node { return MaxPool(nodes["x"], c.window, c.stride, ceil) }
			got := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
				y := y(nodes)
				height, width = y.Shape().Dim(1), y.Shape().Dim(2)
				return []*graph.Node{y}
			})[0]
			g := gaussian(rng, 2, height, width, 3)
			in["g"] = g
			gradient := gradtest.Autodiff[float64](t, in, func(nodes map[string]*graph.Node) *graph.Node {
				return graph.ReduceAllSum(graph.Mul(y(nodes), nodes["g"]))
			})["x"]
			want, wantGradient := make([]float64, len(g.Data)), make([]float64, len(x.Data))
			for o := range want {
				ch, ox, oy, b := o%3, o/3%width, o/3/width%height, o/3/width/height
				best := -1
				for ky := range c.window {
					for kx := range c.window {
						py, px := oy*c.stride+ky, ox*c.stride+kx
						if py >= 7 || px >= 8 {
							continue
						}
						if i := ((b*7+py)*8+px)*3 + ch; best < 0 || x.Data[i] > x.Data[best] {
							best = i
						}
					}
				}
				want[o] = x.Data[best]
				wantGradient[best] += g.Data[o]
			}
			name := fmt.Sprintf("%+v ceil %v", c, ceil)
			gradtest.Close(t, name, got, want, 0)
			gradtest.Close(t, name+" gradient", gradient, wantGradient, 1e-14)
		}
	}
}
