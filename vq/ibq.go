package vq

import (
	"fmt"
	"math/rand/v2"

	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// IBQ composes index back-propagation: codes are chosen by l = zEᵀ, and
// y = onehot(argmax l) + p - sg p with p = softmax(l) carries gradients to every
// code and to the encoder through z_q = yE. Its losses are
//
//	mse(z_q, z) + mse(ẑ, sg z) + 0.25·mse(z, sg ẑ),
//
// the first two weighted by Loss.Codebook, the last by Loss.Commitment, and
// Entropy.Weight times mean H(p') - H(mean p') with p' = softmax(l/Entropy.Temperature):
// sharp choices for each latent, even use over the batch.
func IBQ() Config {
	c, _ := Defaults("ibq")
	return c
}

var ibqMethod = method{
	summary:  "gradients to all codes through the softmax of their inner products (IBQ)",
	defaults: ibqDefaults,
	level:    func(c Config, dim int) level { return ibq{codebook{config: c, dim: dim}} },
	check:    checkIBQ,
	chooses:  true,
}

func ibqDefaults(c *Config) {
	c.Loss.Codebook, c.Loss.Commitment = 1, 0.25
	c.Entropy.Weight = 0.05
}

func checkIBQ(c Config, _ int) error {
	if c.Entropy.Weight < 0 || c.Entropy.Temperature <= 0 {
		return fmt.Errorf("quantizer.entropy: need a weight of at least 0 and a temperature above 0, got %g and %g",
			c.Entropy.Weight, c.Entropy.Temperature)
	}
	return checkChosen(c)
}

// ibq is one code position: a codebook whose codes are chosen by inner product.
type ibq struct{ codebook }

// alike scores codes by ⟨z,e⟩/temperature.
func (ibq) alike(temperature float64) scoring {
	return func(latents *Node, codes []*Node, _ *Random) *Node {
		return MulScalar(DotGeneral(latents, []int{1}, nil, codes[0], []int{1}, nil), 1/temperature)
	}
}

// assign implements [level].
func (m ibq) assign(ctx *Context, residual *Node) assigned {
	codes := m.usable(ctx)
	similar := newChoice(m.alike(1), residual, []*Node{codes}, nil)
	var a assigned
	if ctx.Training {
		p := similar.softmax(codes, nil)
		a.index, a.hard = p.index, Take(codes, p.index)
		a.soft = p.straightThrough(a.hard)
	} else {
		a.index = similar.best()
		a.hard = Take(codes, a.index)
	}
	a.loss = Add(m.losses(ctx, residual, a.hard, a.index), m.entropy(ctx, residual, codes))
	if w := m.config.Loss.Codebook; w > 0 {
		z := a.soft
		if z == nil {
			z = a.hard
		}
		a.loss = Add(a.loss, MulScalar(ctx.meanSquare(Sub(z, residual)), w))
	}
	return a
}

// entropy is Weight·(mean H(p) - H(mean p)) over the rows in use.
func (m ibq) entropy(ctx *Context, residual, codes *Node) *Node {
	w := m.config.Entropy
	if w.Weight == 0 {
		return ScalarZero(residual.Graph(), residual.DType())
	}
	p := newChoice(m.alike(w.Temperature), residual, []*Node{codes}, nil).softmax(nil, ctx.shareOfRows(residual))
	each := Neg(ctx.meanOver(p.information))
	together := Neg(ReduceAllSum(Mul(p.share, Log(MaxScalar(p.share, 1e-30))))) // x log x is 0 at 0
	return MulScalar(Sub(each, together), w.Weight)
}

// start implements [level]. Codes placed on data start at one length, their mean:
// an inner product favours long codes, and a few of them would win every latent.
func (m ibq) start(rest Sample, rng *rand.Rand) (weights.Set, *weights.Array, error) {
	vars, codes, err := m.codebook.start(rest, rng)
	if err != nil || m.config.Start.From == "random" {
		return vars, codes, err
	}
	length := Sample{Rows: codes.Data, N: m.config.Codes, Dim: m.dim}.meanNorm()
	for i := range m.config.Codes {
		rescale(vars["codes"].Row(i), length)
	}
	return vars, vars["codes"], nil
}

// place implements [level]: the code turns towards its target, at the mean length
// of all.
func (m ibq) place(vars weights.Set, rows []int, targets []float32, mode transform.PlaceMode) ([]Touched, error) {
	codes := vars["codes"]
	length := Sample{Rows: codes.Data, N: m.config.Codes, Dim: m.dim}.meanNorm()
	touched, err := m.codebook.place(vars, rows, targets, mode)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		rescale(codes.Row(row), length)
	}
	return touched, nil
}

// rescale gives a row another length.
func rescale(row []float32, length float64) {
	if own := norm(row); own > 0 {
		for j := range row {
			row[j] *= float32(length / own)
		}
	}
}
