package recommend

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gritvq/gritvq/task/recommend/network"
)

// powerCases is the number of questions that powers are chosen by.
const powerCases = 500

// likeliestPowers returns the factors of several priors' scores whose sum makes the
// answers of questions most probable, by Newton's method; the likelihood has one maximum.
// A penalty of one question at most holds each factor at where it is without questions.
// With dropSeen, items of the history compete with no answer. Memory is that of the answers
// of powerCases questions.
func likeliestPowers(priors []network.Prior, at []float64, cases []Case, dropSeen bool) []float64 {
	l := &likelihood{priors: priors, without: at}
	step := max(1, len(cases)/powerCases)
	for i := 0; i < len(cases); i += step {
		l.add(cases[i], dropSeen)
	}
	n, powers := len(priors), slices.Clone(at)
	value, gradient, curvature := l.at(powers)
	for range 50 {
		var move mat.VecDense
		var chol mat.Cholesky
		if !chol.Factorize(mat.NewSymDense(n, curvature)) || chol.SolveVecTo(&move, mat.NewVecDense(n, gradient)) != nil {
			break
		}
		better, size := false, 0.0
		for scale := 1.0; scale > 1e-3 && !better; scale /= 2 {
			next := slices.Clone(powers)
			size = 0
			for k := range next {
				next[k] += scale * move.AtVec(k)
				size = max(size, math.Abs(scale*move.AtVec(k)))
			}
			if v, g, c := l.at(next); v > value {
				value, gradient, curvature, powers, better = v, g, c, next, true
			}
		}
		if !better || size < 1e-4 {
			break
		}
	}
	return powers
}

// likelihood is the logarithm of the probability of answers as a function of powers.
type likelihood struct {
	priors  []network.Prior
	without []float64
	asked   []askedOnce
}

// askedOnce are the scores of a question: of the items that a prior lists, and of those
// that compete with no answer. Others have those of the base.
type askedOnce struct {
	items   []int32
	scores  []float32 // [items, priors]
	hidden  []bool    // [items]
	answers []int     // places in items
}

// add asks a question, unless none of its answers may be found.
func (l *likelihood) add(c Case, dropSeen bool) {
	lists := make([]network.Likely, len(l.priors))
	var seen []int32
	if dropSeen {
		seen = slices.Sorted(slices.Values(c.History))
	}
	items := slices.Concat(seen, c.Relevant)
	for k, p := range l.priors {
		lists[k] = p.Answer(c.Question)
		items = append(items, lists[k].Items...)
	}
	slices.Sort(items)
	items = slices.Compact(items)
	a := askedOnce{items: items, scores: make([]float32, 0, len(items)*len(l.priors)), hidden: make([]bool, len(items))}
	for at, item := range items {
		for k, p := range l.priors {
			a.scores = append(a.scores, lists[k].Score(p.Base(), item))
		}
		_, a.hidden[at] = slices.BinarySearch(seen, item)
		if _, answer := slices.BinarySearch(c.Relevant, item); answer && !a.hidden[at] {
			a.answers = append(a.answers, at)
		}
	}
	if len(a.answers) > 0 {
		l.asked = append(l.asked, a)
	}
}

// moments sums exp(score), and this times each feature and each product of two.
type moments struct {
	mass   float64
	first  []float64
	second []float64
}

func newMoments(n int) moments { return moments{0, make([]float64, n), make([]float64, n*n)} }

func (m *moments) add(weight float64, features []float64) {
	m.mass += weight
	for a, x := range features {
		m.first[a] += weight * x
		for b, y := range features[:a+1] {
			m.second[a*len(features)+b] += weight * x * y
		}
	}
}

// at returns the likelihood, its gradient and the negative of its second derivatives,
// whose lower triangle alone is set.
func (l *likelihood) at(powers []float64) (value float64, gradient, curvature []float64) {
	n := len(powers)
	gradient, curvature = make([]float64, n), make([]float64, n*n)
	features := make([]float64, n)
	score := func(of func(k int) float32) float64 {
		sum := 0.0
		for k := range features {
			features[k] = float64(of(k))
			sum += powers[k] * features[k]
		}
		return sum
	}
	base, items := newMoments(n), len(l.priors[0].Base())
	baseOf := func(item int) func(k int) float32 {
		return func(k int) float32 { return l.priors[k].Base()[item] }
	}
	for item := range items {
		base.add(network.Exp(score(baseOf(item))), features)
	}
	own := newMoments(n)
	for _, a := range l.asked {
		own.mass = base.mass
		copy(own.first, base.first)
		copy(own.second, base.second)
		for at, item := range a.items {
			own.add(-network.Exp(score(baseOf(int(item)))), features)
			if !a.hidden[at] {
				own.add(network.Exp(score(func(k int) float32 { return a.scores[at*n+k] })), features)
			}
		}
		for _, at := range a.answers {
			share := 1 / float64(len(a.answers))
			value += share * (score(func(k int) float32 { return a.scores[at*n+k] }) - math.Log(own.mass))
			for x := range n {
				gradient[x] += share * (features[x] - own.first[x]/own.mass)
			}
		}
		for x := range n {
			for y := range x + 1 {
				curvature[x*n+y] += own.second[x*n+y]/own.mass - own.first[x]*own.first[y]/(own.mass*own.mass)
			}
		}
	}
	for k, p := range powers {
		d := p - l.without[k]
		value -= d * d / 2
		gradient[k] -= d
		curvature[k*n+k]++
		for other := range k {
			curvature[other*n+k] = curvature[k*n+other]
		}
	}
	return value, gradient, curvature
}
