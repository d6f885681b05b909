package vq

import (
	"fmt"
	"math/rand/v2"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// IBQ is index back-propagation: codes are chosen by l = zEᵀ, and z_q = yE with
// y = onehot(argmax l) + p - sg p, p = softmax(l), carries gradients to every code
// and to the encoder. Its losses are
//
//	mse(z_q, z) + mse(ẑ, sg z) + 0.25·mse(z, sg ẑ),
//
// the first two weighted by Loss.Codebook, the last by Loss.Commitment, and
// Entropy.Weight times mean H(p') - H(mean p') with p' = softmax(l/Entropy.Temperature):
// sharp choices for each latent, even use over the batch.
var IBQ = Method{
	Name: "ibq", Title: "IBQ",
	Summary: "gradients to all codes through the softmax of their inner products (IBQ)",
	Defaults: func(c *Config, _ *Rates) {
		c.Loss.Codebook, c.Loss.Commitment = 1, 0.25
		c.Entropy.Weight = 0.05
	},
	Level:   func(c Config, dim int) Level { return ibq{codebook{position{c, dim}}} },
	Check:   checkIBQ,
	Chooses: true,
}

func checkIBQ(c Config, _ int) error {
	if c.Entropy.Weight < 0 || c.Entropy.Temperature <= 0 {
		return fmt.Errorf("quantizer.entropy: need a weight of at least 0 and a temperature above 0, got %g and %g",
			c.Entropy.Weight, c.Entropy.Temperature)
	}
	return nil
}

// ibq is a codebook whose codes are chosen by inner product.
type ibq struct{ codebook }

// alike scores codes by ⟨z,e⟩/temperature.
func (ibq) alike(temperature float64) scoring {
	return func(latents *Node, codes []*Node, _ *Random) *Node {
		return MulScalar(DotGeneral(latents, []int{1}, nil, codes[0], []int{1}, nil), 1/temperature)
	}
}

func (m ibq) Assign(ctx *Context, residual *Node) Assigned {
	codes := m.Usable(ctx)
	similar := newChoice(m.alike(1), residual, []*Node{codes}, nil)
	var a Assigned
	var z *Node
	if ctx.Training {
		a = similar.drawn(codes)
		z = a.Soft
	} else {
		a = similar.chosen(codes)
		z = a.Hard
	}
	a.Loss = Add(m.losses(ctx, residual, a.Hard, a.Index), m.entropy(ctx, residual, codes))
	if w := m.config.Loss.Codebook; w > 0 {
		a.Loss = Add(a.Loss, MulScalar(ctx.MeanSquare(Sub(z, residual)), w))
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
	each := Neg(ctx.MeanOver(p.information))
	together := Neg(ReduceAllSum(Mul(p.share, Log(MaxScalar(p.share, 1e-30))))) // x log x is 0 at 0
	return MulScalar(Sub(each, together), w.Weight)
}

// Start places codes on data at one length, their mean: an inner product favours
// long codes, and a few of them would win every latent.
func (m ibq) Start(rest Latents, rng *rand.Rand) (weights.Set, *weights.Array, error) {
	vars, codes, err := m.codebook.Start(rest, rng)
	if err != nil || m.config.Start.From == "random" {
		return vars, codes, err
	}
	length := rowsOf(codes).meanNorm()
	for i := range m.config.Codes {
		rescale(vars["codes"].Row(i), length)
	}
	return vars, vars["codes"], nil
}

// Place turns codes towards their targets, at the mean length of all.
func (m ibq) Place(vars weights.Set, rows []int, targets []float32) ([]Touched, error) {
	codes := vars["codes"]
	length := rowsOf(codes).meanNorm()
	touched, err := m.codebook.Place(vars, rows, targets)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		rescale(codes.Row(row), length)
	}
	return touched, nil
}

func rescale(row []float32, length float64) {
	if own := norm(row); own > 0 {
		for j := range row {
			row[j] *= float32(length / own)
		}
	}
}
