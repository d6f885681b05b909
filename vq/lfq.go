package vq

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// LFQ is lookup-free quantization: K = 2^D codes are the signs of D coordinates,
// straight-through, with a commitment to the signs (β = 0.25) and an entropy loss
// mean H(p(·|y)) - H(mean p) that makes choices sharp and codes evenly used. A
// latent is mapped to the D coordinates and back by learned affine maps where its
// dimension differs; losses are measured on coordinates. Residual levels are as in
// [FSQ], with the published step ±2^-l.
var LFQ = Method{
	Name: "lfq", Title: "LFQ",
	Summary: "lookup-free quantization: signs of log2 K coordinates with an entropy loss",
	Defaults: func(c *Config, r *Rates) {
		implicitDefaults(c, r)
		c.Loss.Commitment = 0.25
	},
	Pictures: lfqPictures,
	Level:    func(c Config, dim int) Level { return newLFQ(c, dim) },
	Check:    checkLFQ,
	Chooses:  true,
	Implicit: true,
}

// lfqPictures scales the method's own losses down: they would outweigh the error of
// a picture, a tenth of a vector's or less (results/pictures-tuning.md).
func lfqPictures(c *Config, _ *Rates) {
	c.Entropy.Weight, c.Entropy.Temperature, c.Loss.Commitment = 0.01, 1, 0.02
}

func checkLFQ(c Config, _ int) error {
	switch {
	case bits.OnesCount(uint(c.Codes)) != 1:
		return fmt.Errorf("quantizer.codes: lfq codes are signs, so that %d must be a power of two, such as %d",
			c.Codes, 1<<bits.Len(uint(c.Codes)))
	case c.Codes > maxImplicit:
		return fmt.Errorf("quantizer.codes: %d is too many for lfq, use at most %d", c.Codes, maxImplicit)
	case c.Entropy.Weight < 0 || !(c.Entropy.Temperature > 0):
		return fmt.Errorf("quantizer.entropy: need weight >= 0 and temperature > 0")
	}
	return checkImplicit(c)
}

type lfq struct {
	projection
	config Config
}

func newLFQ(c Config, dim int) lfq {
	grid := slices.Repeat(radix{2}, log2(c.Codes))
	return lfq{projection: newProjection(c, dim, grid), config: c}
}

func (q lfq) At(l int) Level {
	q.depth = l
	return q
}

func (q lfq) Start(rest Latents, rng *rand.Rand) (weights.Set, *weights.Array, error) {
	return q.start(rest, coder{
		center: make([]float64, q.width),
		spread: 1,
		scale:  slices.Repeat([]float64{math.Pow(2, -float64(q.depth))}, q.width),
		round: func(y []float64) {
			for i, x := range y {
				y[i] = -1
				if x > 0 {
					y[i] = 1
				}
			}
		},
		value: func(_, digit int) float64 { return float64(2*digit - 1) },
	}, rng)
}

func (q lfq) Assign(ctx *Context, residual *Node) Assigned {
	y := q.into(ctx, residual)
	positive := ConvertDType(GreaterThan(StopGradient(y), ZerosLike(y)), y.DType())
	signs := AddScalar(MulScalar(positive, 2), -1)
	index := q.grid.code(positive)
	through := straightThrough{}.Connect(ctx, y, signs, nil)
	hard := Take(q.Usable(ctx), index)

	loss := ScalarZero(y.Graph(), y.DType())
	if w := q.config.Loss.Commitment; w > 0 {
		loss = Add(loss, MulScalar(ctx.MeanSquare(Sub(y, signs)), w))
	}
	if e := q.config.Entropy; e.Weight > 0 {
		logits := MulScalar(y, 4/e.Temperature) // log p(+)/p(-): |y+1|² - |y-1|² = 4y
		loss = Add(loss, MulScalar(Sub(ctx.MeanOver(signEntropy(logits)), meanCodeEntropy(ctx, logits)), e.Weight))
	}
	return q.assigned(ctx, index, through, hard, loss)
}

func (q lfq) Usable(ctx *Context) *Node {
	anchor := q.anchor(ctx)
	digits := q.grid.table(anchor.Graph(), anchor.DType())
	return q.back(ctx, AddScalar(MulScalar(digits, 2), -1))
}

// signEntropy is H(p(·|y)) [N] of independent signs with the given logits [N,D]:
// the entropy over all 2^D codes is the sum of the signs' own.
func signEntropy(logits *Node) *Node {
	size := Abs(logits)
	// H(σ(x)) = log(1+e^-|x|) + |x| σ(-|x|), without cancellation.
	return ReduceSum(Add(Log1P(Exp(Neg(size))), Mul(size, Sigmoid(Neg(size)))), -1)
}

// leastShare keeps the logarithm of a code that nothing chooses finite.
const leastShare = 1e-30

// meanCodeEntropy is H of the mean over rows of p(·|y), a scalar. A code's
// probability is that of its low signs times that of its high signs, so the mean
// over rows is one product of two [N,√K] matrices: no [N,K] array exists.
func meanCodeEntropy(ctx *Context, logits *Node) *Node {
	rows, width := logits.Shape().Dimensions[0], logits.Shape().Dimensions[1]
	weight := MulScalar(OnesLike(Slice(logits, AxisRange(), AxisRange(0, 1))), 1/float64(rows))
	if ctx.Mask != nil {
		weight = ExpandAxes(ctx.shareOfRows(logits), -1)
	}
	low := signProducts(logits, 0, width/2, OnesLike(weight))
	high := signProducts(logits, width/2, width, weight)
	mean := DotGeneral(high, []int{0}, nil, low, []int{0}, nil) // [2^high, 2^low]
	return Neg(ReduceAllSum(Mul(mean, Log(MaxScalar(mean, leastShare)))))
}

// signProducts is the probability of every combination of signs from..to of each
// row, times weight [N,1]: [N, 2^(to-from)], the first sign the fastest.
func signProducts(logits *Node, from, to int, weight *Node) *Node {
	products := weight
	for i := from; i < to; i++ {
		x := Slice(logits, AxisRange(), AxisRange(i, i+1))
		products = Concatenate([]*Node{Mul(products, Sigmoid(Neg(x))), Mul(products, Sigmoid(x))}, -1)
	}
	return products
}
