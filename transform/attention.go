package transform

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// attentionMixer is softmax over all codes: M = softmax(S) by rows with
// S = (E U1)(E V1)ᵀ / temperature + bias I.
type attentionMixer struct{}

func (attentionMixer) check(c Config, _, _ int) error {
	if c.ScoreDim < 1 {
		return fmt.Errorf("score_dim is %d: use a positive width, such as 16", c.ScoreDim)
	}
	return c.checkAttention()
}

// sampledRows calibrate the initial scores: they put the mean diagonal within about
// 0.01 of Diagonal.
const sampledRows = 256

// start draws U1 = V1, so that similar codes score high. Scores between different
// codes have root mean square 1 before the temperature, and the bias gives codes the
// mean weight Diagonal on themselves.
func (attentionMixer) start(c Config, set weights.Set, codes *weights.Array, rng *rand.Rand) error {
	k, d := codes.Shape[0], codes.Shape[1]
	query := weights.Normal(rng, 1/math.Sqrt(float64(c.ScoreDim)), d, c.ScoreDim)
	set["mixer/query"], set["mixer/key"], set["mixer/bias"] = query, query, weights.New(1)
	rows := rng.Perm(k)[:min(k, sampledRows)]

	raw := c
	raw.Temperature = 1
	if rms := newAttentionRows(raw, widen(set, codes)).offDiagonal(rows); rms > 0 {
		for i := range query.Data {
			query.Data[i] /= float32(math.Sqrt(rms))
		}
	}
	set["mixer/key"] = query.Clone()

	a := newAttentionRows(c, widen(set, codes))
	thresholds := make([]float64, len(rows))
	for n, i := range rows {
		thresholds[n] = a.threshold(i)
	}
	set["mixer/bias"].Data[0] = float32(balancedBias(thresholds, c.Diagonal))
	return nil
}

// balancedBias returns b with mean sigmoid(b - thresholds) = share, by bisection.
func balancedBias(thresholds []float64, share float64) float64 {
	low, high := -1e3, 1e3
	for range 100 {
		middle := (low + high) / 2
		mean := 0.0
		for _, t := range thresholds {
			mean += 1 / (1 + math.Exp(t-middle)) / float64(len(thresholds))
		}
		if mean < share {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

func (attentionMixer) mix(c Config, p variables) []float64 { return mixRows(newAttentionRows(c, p), p) }

func (attentionMixer) place(c Config, set weights.Set, codes *weights.Array, rows []int, y []float64) ([]Touched, error) {
	return placeAttention(c, set, codes, rows, y, func(p variables) rowMixer { return newAttentionRows(c, p) })
}

// attentionRows evaluates rows of softmax(S) E, over all codes or, with neighbours, over a few.
type attentionRows struct {
	c             Config
	p             variables
	queries, keys []float64 // [K,s]
	neighbours    []float64 // [K,k] with the code itself first, or nil
	width         int       // codes a row attends to
}

func newAttentionRows(c Config, p variables) *attentionRows {
	a := &attentionRows{c: c, p: p, width: p.k}
	a.queries = multiply(p.get("codes"), p.get("mixer/query"), p.k, p.d, c.ScoreDim)
	a.keys = multiply(p.get("codes"), p.get("mixer/key"), p.k, p.d, c.ScoreDim)
	if neighbours, ok := p.values["state/neighbours"]; ok {
		a.neighbours, a.width = neighbours, c.TopK
	}
	return a
}

func (a *attentionRows) attended(i, slot int) int {
	if a.neighbours == nil {
		return slot
	}
	return int(a.neighbours[i*a.width+slot])
}

// logits returns row i of S without the bias, and the slot of code i itself.
func (a *attentionRows) logits(i int) (logits []float64, self int) {
	s := a.c.ScoreDim
	logits = make([]float64, a.width)
	for slot := range logits {
		j := a.attended(i, slot)
		logits[slot] = dot(a.queries[i*s:(i+1)*s], a.keys[j*s:(j+1)*s]) / a.c.Temperature
		if j == i {
			self = slot
		}
	}
	return logits, self
}

// weightsOf returns row i of M, and the slot of code i itself.
func (a *attentionRows) weightsOf(i int) (row []float64, self int) {
	row, self = a.logits(i)
	row[self] += a.p.get("mixer/bias")[0]
	softmax(row)
	return row, self
}

func (a *attentionRows) row(i int, x []float64) float64 {
	clear(x)
	row, self := a.weightsOf(i)
	for slot, weight := range row {
		j := a.attended(i, slot)
		addScaled(x, weight, a.p.get("codes")[j*a.p.d:(j+1)*a.p.d])
	}
	return row[self]
}

func (a *attentionRows) moved(i int, delta []float64) {
	s := a.c.ScoreDim
	for j, step := range delta {
		addScaled(a.queries[i*s:(i+1)*s], step, a.p.get("mixer/query")[j*s:(j+1)*s])
		addScaled(a.keys[i*s:(i+1)*s], step, a.p.get("mixer/key")[j*s:(j+1)*s])
	}
}

// offDiagonal is the root mean square score of rows with other codes.
func (a *attentionRows) offDiagonal(rows []int) float64 {
	sum, count := 0.0, 0
	for _, i := range rows {
		logits, self := a.logits(i)
		for slot, l := range logits {
			if slot != self {
				sum += l * l
				count++
			}
		}
	}
	if count == 0 {
		return 0
	}
	return math.Sqrt(sum / float64(count))
}

// threshold is the bias at which code i gives itself half of its weight.
func (a *attentionRows) threshold(i int) float64 {
	logits, self := a.logits(i)
	if len(logits) == 1 {
		return 0 // it has no choice
	}
	own, sum := logits[self], 0.0
	logits[self] = math.Inf(-1)
	top := slices.Max(logits)
	for _, l := range logits {
		sum += math.Exp(l - top)
	}
	return top + math.Log(sum) - own
}

// graph holds scores and weights [K,K], and as much again for their gradients.
func (m attentionMixer) graph(c Config, v weights.Vars, codes, at *Node) *Node {
	return nn.Product(Softmax(m.scores(c, v, codes, at)), codes)
}

// scores returns S, [K,K] or, with at [N,1], rows of it [N,K].
func (attentionMixer) scores(c Config, v weights.Vars, codes, at *Node) *Node {
	k := codes.Shape().Dimensions[0]
	queries := nn.Product(codes, v.Get("mixer/query"))
	keys := nn.Product(codes, v.Get("mixer/key"))
	var self *Node // one-hot rows: where a code meets itself
	if at == nil {
		self = ConvertDType(Diagonal(codes.Graph(), k), codes.DType())
	} else {
		queries = Gather(queries, at)
		self = OneHot(Squeeze(at, -1), k, codes.DType())
	}
	// The temperature divides the small factor instead of [K,K].
	queries = DivScalar(queries, c.Temperature)
	scores := Dot(queries, keys).General([]int{1}, nil, []int{1}, nil)
	return Add(scores, Mul(self, InsertAxes(v.Get("mixer/bias"), 0)))
}

func (m attentionMixer) entropy(c Config, v weights.Vars, codes *Node) *Node {
	return meanEntropy(m.scores(c, v, codes, nil))
}

// meanEntropy is the mean over rows of the entropy of their softmax.
func meanEntropy(logits *Node) *Node {
	logs := LogSoftmax(logits)
	return Neg(ReduceAllMean(ReduceSum(Mul(Exp(logs), logs), -1)))
}
