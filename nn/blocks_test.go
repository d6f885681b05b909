package nn

import (
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
		u := Upsample{In: 3, Out: 2, Kind: kind}
		checkBlock(t, u.Init(weights.Rand(1, kind)), gaussian(weights.Rand(2, kind), 2, 3, 4, 3), u.Build,
			func(v variables, x picture) picture { return x.upsample(v, kind) })
	}
}

func TestImageEncoder(t *testing.T) {
	e := ImageEncoder{Channels: 2, Widths: []int{3, 4}, Blocks: 1, Dim: 2, Groups: 2}
	checkBlock(t, e.Init(weights.Rand(1, "encoder")), gaussian(weights.Rand(2, "encoder"), 2, 4, 6, 2), e.Build,
		func(v variables, x picture) picture { return x.encode(v, e) })
}

func TestImageDecoder(t *testing.T) {
	for _, up := range UpsampleKinds {
		d := ImageDecoder{Channels: 2, Widths: []int{3, 4}, Blocks: 1, Dim: 2, Groups: 2, Up: up}
		checkBlock(t, d.Init(weights.Rand(1, "decoder")), gaussian(weights.Rand(2, "decoder"), 2, 2, 3, 2), d.Build,
			func(v variables, x picture) picture { return x.decode(v, d) })
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
