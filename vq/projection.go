package vq

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// projection maps residuals [N,dim] to the coordinates [N,width] of implicit codes
// and back. Where the dimensions differ both ways are learned and affine:
// "project/in" [dim,width] with "project/in_bias" [width], "project/out"
// [width,dim] with "project/out_bias" [dim]. Where they agree residuals are divided
// and codes multiplied by the fixed "state/scale" [width].
type projection struct {
	dim, width int
	grid       radix  // of the codes
	from       string // the start's setting
	depth      int    // levels before this one
}

func newProjection(c Config, dim int, grid radix) projection {
	return projection{dim: dim, width: len(grid), grid: grid, from: c.Start.From}
}

func (p projection) Vocab() int { return p.grid.size() }

func (p projection) learned() bool { return p.dim != p.width }

// anchor is the node whose graph and type the projection's constants follow.
func (p projection) anchor(ctx *Context) *Node {
	if p.learned() {
		return ctx.Vars.Get("project/out")
	}
	return ctx.Vars.Get("state/scale")
}

func (p projection) into(ctx *Context, residual *Node) *Node {
	if !p.learned() {
		return Div(residual, ExpandAxes(ctx.Vars.Get("state/scale"), 0))
	}
	return linearMap(residual, ctx.Vars.Get("project/in"), ctx.Vars.Get("project/in_bias"))
}

func (p projection) back(ctx *Context, values *Node) *Node {
	if !p.learned() {
		return Mul(values, ExpandAxes(ctx.Vars.Get("state/scale"), 0))
	}
	return linearMap(values, ctx.Vars.Get("project/out"), ctx.Vars.Get("project/out_bias"))
}

func linearMap(x, w, bias *Node) *Node {
	return Add(DotGeneral(x, []int{1}, nil, w, []int{0}, nil), ExpandAxes(bias, 0))
}

// coder describes the coordinates that a projection is started for.
type coder struct {
	center []float64                   // mean of each coordinate
	spread float64                     // deviation of the coordinates
	scale  []float64                   // fixed scale where nothing is projected
	round  func(coordinates []float64) // to the coordinates of their code, in place
	value  func(i, digit int) float64  // coordinate i of a digit
}

// start returns the variables and the vectors [K,dim] of all codes.
func (p projection) start(rest Latents, c coder, rng *rand.Rand) (weights.Set, *weights.Array, error) {
	vars, err := p.variables(p.from, rest, c, rng)
	if err != nil {
		return nil, nil, err
	}
	points := weights.New(p.grid.size(), p.width)
	for code := range p.grid.size() {
		for i, digit := range p.grid.digits(code) {
			points.Row(code)[i] = float32(c.value(i, digit))
		}
	}
	return vars, p.decode(vars, points), nil
}

// assigned has the gradient of the computed coordinates through [N,width] and the
// value of the tabled vectors hard [N,dim].
func (p projection) assigned(ctx *Context, index, through, hard, loss *Node) Assigned {
	soft := straightThrough{}.Connect(ctx, p.back(ctx, through), hard, nil)
	return Assigned{Index: index, Hard: StopGradient(hard), Soft: soft, Loss: loss}
}

// variables starts, from data, at the leading principal components of the sample
// (random mixtures for coordinates beyond them), at the coder's center and spread; the
// way back is the least-squares map. From random, both are small Gaussians.
func (p projection) variables(from string, rest Latents, c coder, rng *rand.Rand) (weights.Set, error) {
	if !p.learned() {
		scale := weights.New(p.width)
		for i, s := range c.scale {
			scale.Data[i] = float32(s)
		}
		return weights.Set{"state/scale": scale}, nil
	}
	if from == "random" {
		return weights.Set{
			"project/in":       weights.Normal(rng, 1/math.Sqrt(float64(p.dim)), p.dim, p.width),
			"project/in_bias":  weights.New(p.width),
			"project/out":      weights.Normal(rng, 1/math.Sqrt(float64(p.width)), p.width, p.dim),
			"project/out_bias": weights.New(p.dim),
		}, nil
	}
	stats, err := principal(rest)
	if err != nil {
		return nil, err
	}
	in, bias := weights.New(p.dim, p.width), weights.New(p.width)
	for i := range p.width {
		direction, offset := stats.unit(i, rng)
		offset += c.center[i] / c.spread
		for j, x := range direction {
			in.Row(j)[i] = float32(c.spread * x)
			offset -= x * stats.mean[j]
		}
		bias.Data[i] = float32(c.spread * offset)
	}
	out, outBias, err := p.fit(rest, in, bias, c.round)
	if err != nil {
		return nil, err
	}
	return weights.Set{"project/in": in, "project/in_bias": bias, "project/out": out, "project/out_bias": outBias}, nil
}

// fit returns the least-squares affine map from the codes of a sample back to it.
func (p projection) fit(rest Latents, in, bias *weights.Array, round func([]float64)) (out, outBias *weights.Array, err error) {
	columns := p.width + 1 // the last is the constant
	gram := mat.NewSymDense(columns, nil)
	moment := mat.NewDense(columns, p.dim, nil)
	row := make([]float64, columns)
	for n := range rest.N {
		x := rest.Row(n)
		for i := range p.width {
			row[i] = float64(bias.Data[i])
			for j, v := range x {
				row[i] += float64(v) * float64(in.Row(j)[i])
			}
		}
		round(row[:p.width])
		row[p.width] = 1
		gram.SymRankOne(gram, 1, mat.NewVecDense(columns, row))
		for i, v := range row {
			target := moment.RawRowView(i)
			for j := range x {
				target[j] += v * float64(x[j])
			}
		}
	}
	for i := range columns { // codes may be collinear on the sample
		gram.SetSym(i, i, gram.At(i, i)+1e-6*float64(rest.N))
	}
	var factor mat.Cholesky
	var solution mat.Dense
	if !factor.Factorize(gram) {
		return nil, nil, fmt.Errorf("the latents to start from are not finite")
	}
	if err := factor.SolveTo(&solution, moment); err != nil {
		return nil, nil, fmt.Errorf("fitting codes to the latents to start from: %w", err)
	}
	out, outBias = weights.New(p.width, p.dim), weights.New(p.dim)
	for j := range p.dim {
		for i := range p.width {
			out.Row(i)[j] = float32(solution.At(i, j))
		}
		outBias.Data[j] = float32(solution.At(p.width, j))
	}
	return out, outBias, nil
}

// decode is back on the host: coordinates [n,width] to [n,dim].
func (p projection) decode(vars weights.Set, rows *weights.Array) *weights.Array {
	out := weights.New(rows.Shape[0], p.dim)
	for n := range rows.Shape[0] {
		to := out.Row(n)
		if !p.learned() {
			for i, x := range rows.Row(n) {
				to[i] = x * vars["state/scale"].Data[i]
			}
			continue
		}
		copy(to, vars["project/out_bias"].Data)
		for i, x := range rows.Row(n) {
			for j, w := range vars["project/out"].Row(i) {
				to[j] += x * w
			}
		}
	}
	return out
}
