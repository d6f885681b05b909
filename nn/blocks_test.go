package nn

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// checkBlock compares a block's values with the reference and all its gradients
// with finite differences of the reference.
func checkBlock(t *testing.T, set weights.Set, x gradtest.Value,
	build func(v weights.Vars, x *graph.Node) *graph.Node, reference func(v variables, x picture) picture) {
	t.Helper()
	in := asInputs(set, 0.1)
	in["x"] = x
	y := reference(variables{in: in}, asPicture(x))
	in["g"] = gaussian(weights.Rand(5, "adjoint"), y.n, y.h, y.w, y.c)
	got := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		return []*graph.Node{build(weights.FromNodes(nodes), nodes["x"])}
	})
	gradtest.Close(t, "value", got[0], y.data, 1e-9)
	gradients := gradtest.Autodiff[float64](t, in, func(nodes map[string]*graph.Node) *graph.Node {
		return graph.ReduceAllSum(graph.Mul(build(weights.FromNodes(nodes), nodes["x"]), nodes["g"]))
	})
	for _, p := range in.Names() {
		if p == "g" {
			continue
		}
		want := gradtest.FiniteDifference(in, p, func(in gradtest.Inputs) float64 {
			sum := 0.0
			for i, y := range reference(variables{in: in}, asPicture(in["x"])).data {
				sum += y * in["g"].Data[i]
			}
			return sum
		})
		gradtest.Close(t, "gradient of "+p, gradients[p], want, 1e-6)
	}
}

// compilers is how images lie on backends other than the embedded engine.
var compilers = layout{images: 2, layers: 1}

func TestGroupNorm(t *testing.T) {
	for _, groups := range []int{1, 3, 4, 6} { // 4 does not divide 6: two groups
		n := GroupNorm{Channels: 6, Groups: groups}
		for _, build := range []func(v weights.Vars, x *graph.Node) *graph.Node{n.Build,
			func(v weights.Vars, x *graph.Node) *graph.Node { return n.build(v, x, compilers) }} {
			checkBlock(t, n.Init(), gaussian(weights.Rand(1, "norm"), 2, 3, 4, 6), build,
				func(v variables, x picture) picture { return x.groupNorm(v, commonDivisor(6, groups)) })
		}
	}
}

func TestResidualBlock(t *testing.T) {
	for _, out := range []int{4, 6} {
		r := ResidualBlock{In: 4, Out: out, Groups: 2}
		for _, build := range []func(v weights.Vars, x *graph.Node) *graph.Node{r.Build,
			func(v weights.Vars, x *graph.Node) *graph.Node { return r.build(v, x, compilers) }} {
			checkBlock(t, r.Init(weights.Rand(1, "residual")), gaussian(weights.Rand(2, "residual"), 2, 3, 4, 4), build,
				func(v variables, x picture) picture { return x.residual(v, 2) })
		}
	}
}

func TestUpsample(t *testing.T) {
	for _, kind := range UpsampleKinds {
		for _, stride := range []int{2, 3, 5} {
			u := Upsample{In: 3, Out: 2, Kind: kind, Stride: stride}
			checkBlock(t, u.Init(weights.Rand(1, kind)), gaussian(weights.Rand(2, kind), 2, 3, 4, 3), u.Build,
				func(v variables, x picture) picture { return x.upsample(v, kind, stride) })
		}
	}
}

func TestImageEncoder(t *testing.T) {
	for _, strides := range [][]int{nil, {3}} {
		for _, linear := range []bool{false, true} {
			e := ImageEncoder{Channels: 2, Widths: []int{3, 4}, Strides: strides, Blocks: 1, Dim: 2, Groups: 2, Linear: linear}
			checkBlock(t, e.Init(weights.Rand(1, "encoder")), gaussian(weights.Rand(2, "encoder"), 2, 2*e.Factor(), 3*e.Factor(), 2), e.Build,
				func(v variables, x picture) picture { return x.encode(v, e) })
		}
	}
}

func TestImageDecoder(t *testing.T) {
	for _, d := range []ImageDecoder{{Up: "transposed"}, {Up: "nearest"}, {Up: "nearest", Strides: []int{3}, Linear: true}} {
		d.Channels, d.Widths, d.Blocks, d.Dim, d.Groups = 2, []int{3, 4}, 1, 2, 2
		checkBlock(t, d.Init(weights.Rand(1, "decoder")), gaussian(weights.Rand(2, "decoder"), 2, 2, 3, 2), d.Build,
			func(v variables, x picture) picture { return x.decode(v, d) })
	}
}

// With a linear path, fresh networks add nothing to it, and the squares come back in their places.
func TestLinearPathStartsAlone(t *testing.T) {
	e := ImageEncoder{Channels: 2, Widths: []int{3, 4, 4}, Strides: []int{3, 2}, Blocks: 1, Dim: 72, Linear: true}
	d := ImageDecoder{Channels: 2, Widths: e.Widths, Strides: e.Strides, Blocks: 1, Dim: 72, Linear: true, Up: "nearest"}
	set := weights.Set{}.Merge("e", e.Init(weights.Rand(1, "e"))).Merge("d", d.Init(weights.Rand(1, "d")))
	for i := range 72 { // the identity of squares of 6 x 6 x 2 values
		set["e/linear/weights"].Data[73*i], set["d/linear/weights"].Data[4*72*72+73*i] = 1, 1 // the tap in the middle
	}
	in := asInputs(set, 0)
	in["x"] = gaussian(weights.Rand(2, "x"), 2, 12, 18, 2)
	got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		v := weights.FromNodes(nodes)
		return []*graph.Node{d.Build(v.In("d"), e.Build(v.In("e"), nodes["x"]))}
	})[0]
	gradtest.Close(t, "picture", got, in["x"].Data, 1e-7)
}

// A constant grid of latents decodes to a picture that is constant away from its borders, whatever the weights: the
// enlargement draws no pattern of its own. Transposed convolutions do.
func TestNearestDrawsNoCheckerboard(t *testing.T) {
	for _, strides := range [][]int{nil, {3, 2}} {
		contrast := map[string]float64{}
		for _, up := range UpsampleKinds {
			d := ImageDecoder{Channels: 1, Widths: []int{4, 4, 4}, Strides: strides, Blocks: 0, Dim: 3, Up: up}
			in := asInputs(d.Init(weights.Rand(1, "checkerboard")), 0)
			in["z"] = gradtest.Value{Shape: []int{1, 9, 9, 3}, Data: slices.Repeat([]float64{0.3, -1, 0.7}, 81)}
			got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
				return []*graph.Node{d.Build(weights.FromNodes(nodes), nodes["z"])}
			})[0]
			side := 9 * factor(d.Widths, d.Strides)
			low, high := math.Inf(1), math.Inf(-1)
			for y := side / 3; y < 2*side/3; y++ {
				for x := side / 3; x < 2*side/3; x++ {
					low, high = min(low, got[y*side+x]), max(high, got[y*side+x])
				}
			}
			contrast[up] = high - low
		}
		if contrast["nearest"] > 1e-5 || contrast["transposed"] < 0.01 {
			t.Errorf("strides %v: contrast of a constant grid %v", strides, contrast)
		}
	}
}

// A fresh block is its skip: nothing is added yet.
func TestResidualBlockStartsAsTheIdentity(t *testing.T) {
	r := ResidualBlock{In: 4, Out: 4, Groups: 2}
	in := asInputs(r.Init(weights.Rand(1, "start")), 0)
	in["x"] = gaussian(weights.Rand(2, "start"), 1, 4, 4, 4)
	got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		return []*graph.Node{r.Build(weights.FromNodes(nodes), nodes["x"])}
	})[0]
	gradtest.Close(t, "fresh block", got, in["x"].Data, 1e-7)
}

func TestImageEncoderRefusesSidesItCannotHalve(t *testing.T) {
	e := ImageEncoder{Widths: []int{4, 4, 4}, Blocks: 1, Dim: 2}
	in := asInputs(e.Init(weights.Rand(1, "")), 0)
	in["x"] = gaussian(weights.Rand(1, ""), 1, 8, 10, 3)
	gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a side of 10 was halved twice")
				}
			}()
			e.Build(weights.FromNodes(nodes), nodes["x"])
		}()
		return []*graph.Node{nodes["x"]}
	})
}
