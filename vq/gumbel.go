package vq

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// STGumbel is the straight-through Gumbel-softmax: a learned projection gives K
// logits l, training draws y = softmax((l + G)/τ) with Gumbel noise G and feeds yE
// forward as its one-hot and backward as itself, with τ falling geometrically from
// Gumbel.Start to Gumbel.End. The loss is Gumbel.Prior times mean Σ q log(K q),
// q = softmax(l), the divergence from uniform choice. Evaluation takes argmax l.
//
// From k-means or data the projection starts at the Bayes rule of equal Gaussians
// around the codes, so that the first argmax is the nearest code. VQ-VAE's
// commitment loss is added; published is Loss.Commitment 0.
var STGumbel = Method{
	Name: "gumbel", Title: "Gumbel-softmax",
	Summary: "codes drawn from learned logits, straight-through Gumbel-softmax",
	Defaults: func(c *Config, _ *Rates) {
		c.Loss.Commitment = 0.25 // without it latents drift away from their codes
	},
	Level:   func(c Config, dim int) Level { return gumbel{position{c, dim}} },
	Check:   checkGumbel,
	Chooses: true,
}

func checkGumbel(c Config, _ int) error {
	if c.Gumbel.Start <= 0 || c.Gumbel.End <= 0 || c.Gumbel.Prior < 0 {
		return fmt.Errorf("quantizer.gumbel: need temperatures above 0 and a prior of at least 0, got start %g, end %g and prior %g",
			c.Gumbel.Start, c.Gumbel.End, c.Gumbel.Prior)
	}
	return nil
}

// temperature is τ, a scalar of x's type; without progress its last value.
func (g Gumbel) temperature(ctx *Context, x *Node) *Node {
	if ctx.Progress == nil {
		return Scalar(x.Graph(), x.DType(), g.End)
	}
	progress := ConvertDType(ctx.Progress, x.DType())
	return Exp(AddScalar(MulScalar(progress, math.Log(g.End/g.Start)), math.Log(g.Start)))
}

// sampled makes scores noisy and divides them by the temperature.
func (g Gumbel) sampled(ctx *Context, x *Node, score scoring) scoring {
	temperature := g.temperature(ctx, x)
	return func(latents *Node, codes []*Node, random *Random) *Node {
		return Div(random.withGumbel(score(latents, codes, nil)), temperature)
	}
}

// divergence is Prior times the mean divergence Σ q log(K q) of the choice from uniform.
func (g Gumbel) divergence(ctx *Context, c choice) *Node {
	if g.Prior == 0 {
		return ScalarZero(c.latents.Graph(), c.latents.DType())
	}
	information := c.softmax(nil, nil).information
	return MulScalar(ctx.MeanOver(AddScalar(information, math.Log(float64(c.size())))), g.Prior)
}

// gumbel has a projection of residuals to logits beside the codes:
// "projection/weight" [K,d] and "projection/bias" [K].
type gumbel struct{ position }

// startSharpness is the first inverse temperature times the mean squared gap.
const startSharpness = 8

func (m gumbel) Start(rest Latents, rng *rand.Rand) (weights.Set, *weights.Array, error) {
	codes, _, err := m.config.startCodes(rest, rng)
	if err != nil {
		return nil, nil, err
	}
	vars := weights.Set{"codes": codes}
	if m.config.Start.From == "random" {
		vars["projection/weight"] = weights.Normal(rng, 1/math.Sqrt(float64(m.dim)), m.config.Codes, m.dim)
		vars["projection/bias"] = weights.New(m.config.Codes)
		return vars, codes, nil
	}
	gap, err := rest.meanSquaredGap(codes)
	if err != nil {
		return nil, nil, err
	}
	vars["projection/weight"], vars["projection/bias"] = codes.Clone(), weights.New(m.config.Codes)
	for i := range m.config.Codes {
		m.aim(vars, i, startSharpness/gap)
	}
	return vars, codes, nil
}

// aim points code i's logit at the code itself: -β|z - e|² without the term |z|²
// that all codes share.
func (m gumbel) aim(vars weights.Set, i int, beta float64) {
	code, weight := vars["codes"].Row(i), vars["projection/weight"].Row(i)
	for j, x := range code {
		weight[j] = float32(2 * beta * float64(x))
	}
	length := norm(code)
	vars["projection/bias"].Data[i] = float32(-beta * length * length)
}

// meanSquaredGap is the mean squared distance between the first rows of the sample
// and their nearest code, and never quite zero.
func (s Latents) meanSquaredGap(codes *weights.Array) (float64, error) {
	some := s.first(4096).clone()
	if err := some.subtractNearest(codes); err != nil {
		return 0, err
	}
	total := 0.0
	for i := range some.N {
		length := norm(some.Row(i))
		total += length * length
	}
	spread := s.spread()
	return max(total/float64(max(1, some.N)), 1e-3*float64(s.Dim)*spread*spread, 1e-12), nil
}

// logits scores codes by ⟨z,w⟩ + b.
func (m gumbel) logits(latents *Node, codes []*Node, _ *Random) *Node {
	return Add(DotGeneral(latents, []int{1}, nil, codes[0], []int{1}, nil), ExpandAxes(codes[1], 0))
}

func (m gumbel) Assign(ctx *Context, residual *Node) Assigned {
	codes := m.Usable(ctx)
	parameters := []*Node{ctx.Vars.Get("projection/weight"), ctx.Vars.Get("projection/bias")}
	plain := newChoice(m.logits, residual, parameters, nil)
	var a Assigned
	if ctx.Training {
		a = newChoice(m.config.Gumbel.sampled(ctx, residual, m.logits), residual, parameters, ctx.Random).drawn(codes)
	} else {
		a = plain.chosen(codes)
	}
	a.Loss = Add(m.losses(ctx, residual, a.Hard, a.Index), m.config.Gumbel.divergence(ctx, plain))
	return a
}

func (m gumbel) Usable(ctx *Context) *Node { return ctx.Vars.Get(CodesPath) }

// Place moves codes, and their logits follow with the mean sharpness of all codes.
func (m gumbel) Place(vars weights.Set, rows []int, targets []float32) ([]Touched, error) {
	along, square := 0.0, 0.0
	codes, weight := vars["codes"], vars["projection/weight"]
	for i, x := range codes.Data {
		along += float64(x) * float64(weight.Data[i])
		square += float64(x) * float64(x)
	}
	beta := max(along/max(2*square, 1e-12), 1e-6)
	var touched []Touched
	for i, row := range rows {
		copy(codes.Row(row), targets[i*m.dim:(i+1)*m.dim])
		m.aim(vars, row, beta)
		touched = append(touched, touch(row, CodesPath, "projection/weight", "projection/bias")...)
	}
	return touched, nil
}
