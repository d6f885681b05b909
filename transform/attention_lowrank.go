package transform

import (
	"math"
	"math/rand/v2"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// prototypeMixer is low-rank attention. The paper normalises the rows of A Bᵀ
// without forming it; here the factors themselves are stochastic,
//
//	M = δ I + (1-δ) P Qᵀ,  P = softmax(A/τ) over the r columns,
//	                       Q = softmax(B/τ) over the K codes,
//
// so that every row of M is nonnegative and sums to 1, P (Qᵀ E) never needs the
// [K,K] matrix, and the diagonal keeps the weight δ = sigmoid(bias). The r rows
// of Qᵀ E are prototypes: averages of codes that codes lean on.
type prototypeMixer struct{}

func (prototypeMixer) check(c Config, k, _ int) error {
	if err := c.checkRank(k); err != nil {
		return err
	}
	return c.checkAttention()
}

// farthestLogit bounds how unlikely a prototype is at the start; softmax passes
// no gradient to weights that are too small.
const farthestLogit = -8

// start spreads the prototypes over Rank randomly chosen codes: a code leans on
// the prototypes near it, and a prototype averages the codes near it.
func (prototypeMixer) start(c Config, set weights.Set, codes *weights.Array, rng *rand.Rand) error {
	k, d := codes.Shape[0], codes.Shape[1]
	seeds := rng.Perm(k)[:c.Rank]
	e := toFloat64(codes.Data)
	distances := make([]float64, k*c.Rank)
	spread := 0.0
	for i := range k {
		closest := math.Inf(1)
		for r, seed := range seeds {
			sum := 0.0
			for j := range d {
				diff := e[i*d+j] - e[seed*d+j]
				sum += diff * diff
			}
			distances[i*c.Rank+r] = sum
			closest = math.Min(closest, sum)
		}
		spread += closest / float64(k)
	}
	if spread == 0 {
		spread = 1
	}
	a, b := weights.New(k, c.Rank), weights.New(c.Rank, k)
	for i := range k {
		for r := range c.Rank {
			logit := float32(c.Temperature * math.Max(farthestLogit, -distances[i*c.Rank+r]/spread))
			a.Data[i*c.Rank+r], b.Data[r*k+i] = logit, logit
		}
	}
	set["mixer/a"], set["mixer/b"], set["mixer/bias"] = a, b, weights.New(1)

	rows := newPrototypeRows(c, widen(set, codes))
	self := 0.0 // mean diagonal of P Qᵀ
	for i := range k {
		self += dot(rows.code(i), rows.share(i)) / float64(k)
	}
	delta := math.Max(0.01, (c.Diagonal-self)/(1-self))
	set["mixer/bias"].Data[0] = float32(math.Log(delta / (1 - delta)))
	return nil
}

func (prototypeMixer) mix(c Config, p variables) []float64 { return mixRows(newPrototypeRows(c, p), p) }

func (prototypeMixer) place(c Config, set weights.Set, codes *weights.Array, rows []int, y []float64) ([]Touched, error) {
	return placeAttention(c, set, codes, rows, y, func(p variables) rowMixer { return newPrototypeRows(c, p) })
}

type prototypeRows struct {
	p          variables
	rank       int
	delta      float64
	lean       []float64 // P [K,r]
	shares     []float64 // Q [K,r]
	prototypes []float64 // Qᵀ E [r,d]
}

func newPrototypeRows(c Config, p variables) *prototypeRows {
	m := &prototypeRows{p: p, rank: c.Rank, delta: 1 / (1 + math.Exp(-p.get("mixer/bias")[0]))}
	m.lean, m.shares = make([]float64, p.k*c.Rank), make([]float64, p.k*c.Rank)
	for i, x := range p.get("mixer/a") {
		m.lean[i] = x / c.Temperature
	}
	logits := make([]float64, p.k)
	for r := range c.Rank {
		for i := range p.k {
			logits[i] = p.get("mixer/b")[r*p.k+i] / c.Temperature
		}
		softmax(logits)
		for i := range p.k {
			m.shares[i*c.Rank+r] = logits[i]
		}
	}
	for i := range p.k {
		softmax(m.code(i))
	}
	m.prototypes = multiplyTransposed(m.shares, p.get("codes"), p.k, c.Rank, p.d)
	return m
}

// code is row i of P, share is row i of Q.
func (m *prototypeRows) code(i int) []float64  { return m.lean[i*m.rank : (i+1)*m.rank] }
func (m *prototypeRows) share(i int) []float64 { return m.shares[i*m.rank : (i+1)*m.rank] }

func (m *prototypeRows) row(i int, x []float64) float64 {
	d := m.p.d
	clear(x)
	addScaled(x, m.delta, m.p.get("codes")[i*d:(i+1)*d])
	for r, weight := range m.code(i) {
		addScaled(x, (1-m.delta)*weight, m.prototypes[r*d:(r+1)*d])
	}
	return m.delta + (1-m.delta)*dot(m.code(i), m.share(i))
}

func (m *prototypeRows) moved(i int, delta []float64) {
	for r, share := range m.share(i) {
		addScaled(m.prototypes[r*m.p.d:(r+1)*m.p.d], share, delta)
	}
}

// graph returns δ own + (1-δ) softmax(a/τ) (Qᵀ E) for rows own [N,d], a [N,r].
func (prototypeMixer) graph(c Config, v weights.Vars, codes, at *Node) *Node {
	own, a := gathered(codes, at), gathered(v.Get("mixer/a"), at)
	shares := Softmax(DivScalar(v.Get("mixer/b"), c.Temperature))
	prototypes := nn.Product(shares, codes)
	delta := InsertAxes(Sigmoid(v.Get("mixer/bias")), 0)
	lean := Softmax(DivScalar(a, c.Temperature))
	return Add(Mul(own, delta), nn.Product(lean, Mul(prototypes, OneMinus(delta))))
}

// entropy is H(δ) + (1-δ) mean H(P_i): the entropy of the weights
// [δ, (1-δ) P_i]. With logit b, -ln δ = softplus(-b) and -ln(1-δ) = softplus(b).
func (prototypeMixer) entropy(c Config, v weights.Vars, _ *Node) *Node {
	bias := Reshape(v.Get("mixer/bias"))
	delta := Sigmoid(bias)
	choice := Add(Mul(delta, Softplus(Neg(bias))), Mul(OneMinus(delta), Softplus(bias)))
	return Add(choice, Mul(OneMinus(delta), meanEntropy(DivScalar(v.Get("mixer/a"), c.Temperature))))
}
