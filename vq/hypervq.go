package vq

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// HyperVQ is a reimplementation from the published description; no public code is
// known. Latents are mapped into the Poincaré ball of curvature c by
// x = exp0(clip z), codes are chosen by hyperbolic multinomial regression,
//
//	v = (2|a|/√c) asinh[(2√c⟨x,â⟩cosh(2√c r) - (1 + c|x|²)sinh(2√c r)) / (1 - c|x|²)],
//
// with a hyperplane (normal a, offset r) for each code, and the code itself is
// the hyperplane's foot exp0(r â), taken back by log0 for the decoder. Training
// draws codes by Gumbel-softmax as [STGumbel] does; inference takes the argmax.
//
// Lengths are measured in mean lengths of the start sample. From k-means or data,
// normals start in the codes' directions and all offsets at the mean length; from
// random, offsets start small and random (at 0 every code would be the origin).
var HyperVQ = Method{
	Name: "hypervq", Title: "HyperVQ",
	Summary: "codes in hyperbolic space, chosen by their hyperplanes (HyperVQ, reimplemented)",
	Level:   func(c Config, dim int) Level { return hypervq{position{c, dim}} },
	Check:   checkHyperVQ,
	Chooses: true,
}

func checkHyperVQ(c Config, dim int) error {
	if c.Curvature <= 0 {
		return fmt.Errorf("quantizer.curvature: %g must be above 0", c.Curvature)
	}
	if c.Loss.Usage > 0 {
		return fmt.Errorf("quantizer.loss.usage: hypervq has no usage regulariser, set it to 0 and use gumbel.prior")
	}
	return checkGumbel(c, dim)
}

const (
	// farthest is the largest hyperbolic distance √c|z| from the origin: beyond it
	// float32 loses its digits at the ball's boundary.
	farthest    = 4
	startNormal = 2 // length of the first normals: how sharply latents choose
)

// hypervq has normals "codes" [K,d], offsets "feature/offset" [K], and
// "state/scale" [1], the length of a latent that counts as 1.
type hypervq struct{ position }

func (m hypervq) Start(rest Latents, rng *rand.Rand) (weights.Set, *weights.Array, error) {
	scale := max(rest.meanNorm(), 1e-6)
	vars := weights.Set{
		"codes":          weights.Normal(rng, 1/math.Sqrt(float64(m.dim)), m.config.Codes, m.dim),
		"feature/offset": weights.New(m.config.Codes),
		"state/scale":    weights.Full(float32(scale), 1),
	}
	if m.config.Start.From == "random" {
		for i := range vars["feature/offset"].Data {
			vars["feature/offset"].Data[i] = float32(0.1 * rng.Float64())
		}
	} else {
		codes, _, err := m.config.startCodes(rest, rng)
		if err != nil {
			return nil, nil, err
		}
		for i := range m.config.Codes {
			m.aim(vars, i, codes.Row(i), startNormal, 1)
		}
	}
	usable := weights.New(m.config.Codes, m.dim)
	for i := range m.config.Codes {
		normal := vars["codes"].Row(i)
		length := math.Max(norm(normal), 1e-12)
		for j, x := range normal {
			usable.Row(i)[j] = float32(scale * float64(vars["feature/offset"].Data[i]) * float64(x) / length)
		}
	}
	return vars, usable, nil
}

// aim points code i at target, with a normal and an offset of the given lengths.
// With unequal offsets the code nearest to the origin would win most latents.
func (m hypervq) aim(vars weights.Set, i int, target []float32, normal, offset float64) {
	if far := norm(target); far > 0 {
		for j, x := range target {
			vars["codes"].Row(i)[j] = float32(normal * float64(x) / far)
		}
	}
	vars["feature/offset"].Data[i] = float32(offset)
}

// limit is the largest length of latents and offsets.
func (m hypervq) limit() float64 { return farthest / math.Sqrt(m.config.Curvature) }

// length is |x| [N,1], never zero.
func length(x *Node) *Node {
	return Sqrt(AddScalar(ReduceAndKeep(Square(x), ReduceSum, -1), 1e-12))
}

func sinh(x *Node) *Node { return MulScalar(Sub(Exp(x), Exp(Neg(x))), 0.5) }
func cosh(x *Node) *Node { return MulScalar(Add(Exp(x), Exp(Neg(x))), 0.5) }

// asinh has the exact derivative 1/√(1+x²), independent of the logarithm's precision.
func asinh(x *Node) *Node {
	size := Abs(StopGradient(x))
	value := Mul(Sign(StopGradient(x)), quickLog(Add(size, Sqrt(AddScalar(Square(size), 1)))))
	var arriving *Node
	x = IdentityWithCustomGradient(x, func(x, _ *Node) *Node { return Div(arriving, Sqrt(AddScalar(Square(x), 1))) })
	return IdentityWithCustomGradient(Add(StopGradient(value), MulScalar(x, 0)), func(_, g *Node) *Node { arriving = g; return g })
}

// logits scores codes. With s = √c|z| and ρ = √c r the argument of asinh is
// sinh(2s)⟨ẑ,â⟩cosh(2ρ) - cosh(2s)sinh(2ρ): an inner product of features
// [N,d+1] and [B,d+1] that never divides by 1 - c|x|².
func (m hypervq) logits(latents *Node, codes []*Node, _ *Random) *Node {
	product := DotGeneral(latents, []int{1}, nil, codes[0], []int{1}, nil)
	return Mul(MulScalar(asinh(product), 2/math.Sqrt(m.config.Curvature)), Reshape(codes[1], 1, -1))
}

func (m hypervq) scale(ctx *Context) *Node { return Reshape(ctx.Vars.Get("state/scale")) }

// latentFeatures is [sinh(2s)ẑ, cosh(2s)] of residuals, shortened to the limit.
func (m hypervq) latentFeatures(ctx *Context, residual *Node) *Node {
	z := Div(residual, m.scale(ctx))
	far := length(z)
	s := MulScalar(MinScalar(far, m.limit()), 2*math.Sqrt(m.config.Curvature))
	return Concatenate([]*Node{Mul(Div(z, far), sinh(s)), cosh(s)}, -1)
}

// poles are the codes' directions â [K,d] and offsets r [K,1].
func (m hypervq) poles(ctx *Context) (direction, offset *Node) {
	normal := ctx.Vars.Get("codes")
	return Div(normal, length(normal)), ExpandAxes(ctx.Vars.Get("feature/offset"), -1)
}

// Usable is log0(exp0(r â)) = r â, in the latents' own lengths.
func (m hypervq) Usable(ctx *Context) *Node {
	direction, offset := m.poles(ctx)
	return Mul(Mul(direction, offset), m.scale(ctx))
}

func (m hypervq) Assign(ctx *Context, residual *Node) Assigned {
	root := math.Sqrt(m.config.Curvature)
	direction, offset := m.poles(ctx)
	rho := MulScalar(offset, 2*root)
	latents := m.latentFeatures(ctx, residual)
	parameters := []*Node{
		Concatenate([]*Node{Mul(direction, cosh(rho)), Neg(sinh(rho))}, -1),
		Reshape(length(ctx.Vars.Get("codes")), -1),
	}
	codes := m.Usable(ctx)
	plain := newChoice(m.logits, latents, parameters, nil)
	var a Assigned
	if ctx.Training {
		ball := MulScalar(Mul(direction, Tanh(MulScalar(offset, root))), 1/root) // exp0(r â)
		drawn := newChoice(m.config.Gumbel.sampled(ctx, residual, m.logits), latents, parameters, ctx.Random).softmax(ball, nil)
		a.Index, a.Hard = drawn.index, Take(codes, drawn.index)
		change := Sub(drawn.mean, StopGradient(drawn.mean))
		a.Soft = Add(a.Hard, Mul(m.log0(StopGradient(Take(direction, a.Index)), StopGradient(Take(offset, a.Index)), change), m.scale(ctx)))
	} else {
		a = plain.chosen(codes)
	}
	a.Loss = Add(m.losses(ctx, residual, a.Hard, a.Index), m.config.Gumbel.divergence(ctx, plain))
	return a
}

// log0 applies the derivative of log0 at exp0(r â) to a change [N,d] in the ball:
// cosh²ρ along â and ρ/tanh ρ across it, with ρ = √c r.
func (m hypervq) log0(direction, offset, change *Node) *Node {
	rho := MaxScalar(MulScalar(Abs(offset), math.Sqrt(m.config.Curvature)), 1e-3)
	across := Div(rho, Tanh(rho))
	along := ReduceAndKeep(Mul(direction, change), ReduceSum, -1)
	return Add(Mul(across, change), Mul(Mul(Sub(Square(cosh(rho)), across), along), direction))
}

// Project keeps offsets within the limit.
func (m hypervq) Project(ctx *Context, values map[string]*Node) {
	path := ctx.Vars.Path("feature/offset")
	if offset, ok := values[path]; ok {
		values[path] = ClipScalar(offset, -m.limit(), m.limit())
	}
}

// Place turns codes towards their targets, with normals and offsets of the mean lengths of all.
func (m hypervq) Place(vars weights.Set, rows []int, targets []float32) ([]Touched, error) {
	normal := rowsOf(vars["codes"]).meanNorm()
	offset := rowsOf(vars["feature/offset"]).meanNorm()
	var touched []Touched
	for i, row := range rows {
		m.aim(vars, row, targets[i*m.dim:(i+1)*m.dim], normal, offset)
		touched = append(touched, touch(row, CodesPath, "feature/offset")...)
	}
	return touched, nil
}
