package transform

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// rowNormMixer is the paper's low-rank attention, M E = row_norm_τ(A Bᵀ) E, with the
// normalisation applied to the rows x = A (Bᵀ E), so that A Bᵀ [K,K] is never formed.
// The paper leaves row_norm_τ open; here, with a learned length g,
//
//	row_norm_τ(x) = g √(1+τ²) x / √(|x|² + τ²g²),
//
// is the row itself where |x| = g, normalises to the length g for τ → 0 and changes
// nothing for τ → ∞. A and B start as those of the low-rank mixer, g at the root mean
// square of |x|. See prototypeMixer for row-stochastic weights instead.
type rowNormMixer struct{ lowRankMixer }

const lengthPath = "mixer/length" // g [1]

func (m rowNormMixer) check(c Config, k, d int) error {
	if err := c.checkTemperature(); err != nil {
		return err
	}
	if c.RowNorm != RowNormNone {
		return fmt.Errorf("row_norm is %s: the rows of kind %s are normalised already, and with their lengths lost it is kind %s; "+
			"use row_norm none", c.RowNorm, KindAttentionRowNorm, KindLowRank)
	}
	return m.lowRankMixer.check(c, k, d)
}

func (m rowNormMixer) start(c Config, set weights.Set, codes *weights.Array, rng *rand.Rand) error {
	if err := m.lowRankMixer.start(c, set, codes, rng); err != nil {
		return err
	}
	x, sum := m.lowRankMixer.mix(c, widen(set, codes)), 0.0
	for _, v := range x {
		sum += v * v
	}
	length := math.Sqrt(sum / float64(codes.Shape[0]))
	if length == 0 {
		length = 1
	}
	set[lengthPath] = weights.Full(float32(length), 1)
	return nil
}

// most is the length g√(1+τ²) that rows come near and never reach.
func (rowNormMixer) most(c Config, length float64) float64 {
	return length * math.Sqrt(1+c.Temperature*c.Temperature)
}

func (m rowNormMixer) mix(c Config, p variables) []float64 {
	x, length := m.lowRankMixer.mix(c, p), p.get(lengthPath)[0]
	smooth := c.Temperature * c.Temperature * length * length
	for i := range p.k {
		row := x[i*p.d : (i+1)*p.d]
		scale := m.most(c, length) / math.Sqrt(math.Max(dot(row, row)+smooth, zeroNorm*zeroNorm))
		for j := range row {
			row[j] *= scale
		}
	}
	return x
}

// nearlyMost is the share of the greatest length that a placed row may have: its row of A
// grows beyond all bounds towards it.
const nearlyMost = 0.99

// place solves row_norm_τ(A_i Bᵀ E) = y_i. Targets that are too long keep their direction.
func (m rowNormMixer) place(c Config, set weights.Set, codes *weights.Array, rows []int, y []float64) ([]Touched, error) {
	length, d := float64(set[lengthPath].Data[0]), codes.Shape[1]
	most, smooth := m.most(c, length), c.Temperature*c.Temperature*length*length
	for n := range rows {
		row := y[n*d : (n+1)*d]
		size := math.Sqrt(dot(row, row))
		if size == 0 {
			continue
		}
		reached := math.Min(size, nearlyMost*math.Abs(most))
		before := reached * math.Sqrt(smooth/(most*most-reached*reached)) // |x|
		for j := range row {
			row[j] *= math.Copysign(before/size, length)
		}
	}
	return m.lowRankMixer.place(c, set, codes, rows, y)
}

func (m rowNormMixer) graph(c Config, v weights.Vars, codes, at *Node) *Node {
	x := m.lowRankMixer.graph(c, v, codes, at)
	length := InsertAxes(v.Get(lengthPath), 0) // [1,1]
	smooth := MulScalar(Square(length), c.Temperature*c.Temperature)
	size := Sqrt(MaxScalar(Add(ReduceAndKeep(Square(x), ReduceSum, -1), smooth), zeroNorm*zeroNorm))
	return Mul(x, Div(MulScalar(length, math.Sqrt(1+c.Temperature*c.Temperature)), size))
}
