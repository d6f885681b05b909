package vq

import (
	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// EMA is VQ-VAE's quantizer with codes as running averages of their latents:
//
//	N ← γN + (1-γ)n,  m ← γm + (1-γ)Σz,  e = m / Ñ,
//	Ñ = (N+ε)/(ΣN+Kε)·ΣN
//
// and the commitment loss on the encoder.
var EMA = Method{
	Name: "ema", Title: "EMA-VQ",
	Summary:  "VQ-VAE with codes as running averages of their latents",
	Defaults: func(c *Config, _ *Rates) { c.Learn, c.Loss.Commitment = "ema", 0.25 },
}

// averageInit starts the averages at the codes, with counts of at least one, so that
// a code keeps its place until it is chosen.
func averageInit(codes *weights.Array, counts []int) weights.Set {
	k := codes.Shape[0]
	n, m := weights.New(k), codes.Clone()
	for i := range k {
		n.Data[i] = 1
		if counts != nil && counts[i] > 1 {
			n.Data[i] = float32(counts[i])
		}
		for j := range m.Row(i) {
			m.Row(i)[j] *= n.Data[i]
		}
	}
	return weights.Set{countsPath: n, sumsPath: m}
}

// restartAverages sets reset rows to count 1, sum = target.
func restartAverages(set weights.Set, rows []int, targets []float32) {
	n, m := set[countsPath], set[sumsPath]
	for i, row := range rows {
		if n != nil {
			n.Data[row] = 1
		}
		if m != nil {
			copy(m.Row(row), targets[i*len(m.Row(row)):])
		}
	}
}

// averages says whether codes are running averages of their latents. Cosine codes
// are: a mean points where its normalised self does.
func (c Config) averages() bool {
	return c.Learn == "ema" && c.Transform.Kind == transform.KindIdentity && c.Transform.RowNorm != transform.RowNormGain
}

// average returns the updates of counts, sums and codes.
func (b codebook) average(ctx *Context, residual, index *Node) map[string]*Node {
	decay, epsilon, k := b.config.Average.Decay, b.config.Average.Epsilon, b.config.Codes
	n, m := ctx.Vars.Get(countsPath), ctx.Vars.Get(sumsPath)
	counts, sums := ctx.countsAndSums(index, StopGradient(ctx.innovation(residual)), k)
	n = Add(MulScalar(n, decay), MulScalar(counts, 1-decay))
	m = Add(MulScalar(m, decay), MulScalar(sums, 1-decay))
	total := ReduceAllSum(n)
	smooth := Mul(Div(AddScalar(n, epsilon), AddScalar(total, float64(k)*epsilon)), total)
	return map[string]*Node{
		ctx.Vars.Path(countsPath): n,
		ctx.Vars.Path(sumsPath):   m,
		ctx.Vars.Path(CodesPath):  Div(m, ExpandAxes(smooth, -1)),
	}
}

// pull is the share of the step of a running average that usable codes take: all of
// it for averaged codes under a transform (protocol B). The step starts from where
// the codes are, so it keeps what the transform learned; setting them to the means
// themselves would undo it.
func (c Config) pull() float64 {
	if c.Learn == "ema" && !c.averages() {
		return 1
	}
	return c.Average.Pull
}

// pull returns the updates of counts and codes. Beside the optimizer's step, if they
// learn by gradient, usable codes take a share p of the step of a running average,
//
//	N ← γN + (1-γ)n,  Δe' = p·(1-γ)/(N+ε)·Σ(z-e'),
//
// and E moves by Δe' times the transform's transposed Jacobian, scaled so that e'
// goes as far in that direction.
func (b codebook) pull(ctx *Context, residual, hard, index *Node) map[string]*Node {
	decay, epsilon := b.config.Average.Decay, b.config.Average.Epsilon
	counts, gaps := ctx.countsAndSums(index, StopGradient(ctx.innovation(Sub(residual, hard))), b.config.Codes)
	n := Add(MulScalar(ctx.Vars.Get(countsPath), decay), MulScalar(counts, 1-decay))
	step := StopGradient(MulScalar(Div(gaps, ExpandAxes(AddScalar(n, epsilon), -1)), b.config.pull()*(1-decay)))
	codes := ctx.Vars.Get(CodesPath)
	back := Gradient(ReduceAllSum(Mul(b.Usable(ctx), step)), codes)[0]
	scale := Div(ReduceAllSum(Square(step)), MaxScalar(ReduceAllSum(Square(back)), 1e-30))
	return map[string]*Node{
		ctx.Vars.Path(countsPath): n,
		ctx.Vars.Path(CodesPath):  Add(codes, Mul(back, scale)),
	}
}
