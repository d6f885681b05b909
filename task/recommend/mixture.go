package recommend

import (
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/gritvq/gritvq/task/recommend/classical"
	"github.com/gritvq/gritvq/task/recommend/network"
)

// mixture makes a [network.Prior] of classical scores s_k and of the number n of
// interactions of each item, with the frequency f_i = (n_i + 1)/Σ (n + 1):
//
//	p_i ∝ f_i^popular Π_k ((1 - rest_k) s_ki/Σ s_k + rest_k f_i)^power_k,  s_ki ≥ 0
//
// The rest is what a method gives no score to; it makes every item possible. Memory
// is that of the methods and four numbers an item.
type mixture struct {
	parts   []part
	popular float64
	counts  []float32
	total   float64 // Σ (n + 1)
	base    []float32
	logs    []float64 // of frequencies
	scratch sync.Pool // of *mixtureScratch
}

// part is a method in a mixture.
type part struct {
	name        string
	method      classical.Method
	scorer      classical.Scorer
	fitted      classical.Fitted // the scorer in training, otherwise nil
	rest, power float64
	logRest     float64 // of the rest
}

type mixtureScratch struct {
	scores [][]float32 // of each part
	own    []float32   // interactions of the user who is left out
}

func newMixture(parts []part, popular float64, counts []float32) *mixture {
	m := &mixture{parts: parts, popular: popular, counts: counts}
	for i, p := range parts {
		m.parts[i].fitted, _ = p.scorer.(classical.Fitted)
		m.parts[i].logRest = math.Log(p.rest)
	}
	for _, n := range counts {
		m.total += float64(n) + 1
	}
	m.scratch.New = func() any {
		s := &mixtureScratch{make([][]float32, len(parts)), make([]float32, len(counts))}
		for k := range parts {
			s.scores[k] = make([]float32, len(counts))
		}
		return s
	}
	m.base, m.logs = make([]float32, len(counts)), make([]float64, len(counts))
	for i, n := range counts {
		m.logs[i] = math.Log(m.frequency(n))
		score := m.popular * m.logs[i]
		for _, p := range m.parts {
			score += p.power * (p.logRest + m.logs[i])
		}
		m.base[i] = float32(score)
	}
	return m
}

// frequency is the share of the interactions, given an item's number of them.
func (m *mixture) frequency(n float32) float64 { return (float64(n) + 1) / m.total }

// Base implements network.Prior.
func (m *mixture) Base() []float32 { return m.base }

// Score implements classical.Scorer.
func (m *mixture) Score(history []int32, scores []float32) {
	m.Answer(Question{History: history}).Fill(m.base, scores)
}

// String describes the mixture.
func (m *mixture) String() string {
	var list []string
	for _, p := range m.parts {
		list = append(list, fmt.Sprintf("%s, %.0f %% popularity, to the power of %.2f", p.method, 100*p.rest, p.power))
	}
	return strings.Join(append(list, fmt.Sprintf("popularity to the power of %.2f", m.popular)), "; ")
}

// Answer implements network.Prior.
func (m *mixture) Answer(q Question) network.Likely {
	s := m.scratch.Get().(*mixtureScratch)
	defer m.scratch.Put(s)
	for k, p := range m.parts {
		p.scorer.Score(q.History, s.scores[k])
	}
	return m.likely(s)
}

// AnswerWithout implements network.Prior.
func (m *mixture) AnswerWithout(e Example) network.Likely {
	s := m.scratch.Get().(*mixtureScratch)
	defer m.scratch.Put(s)
	for k, p := range m.parts {
		p.fitted.ScoreWithout(e.Own, e.History, s.scores[k])
	}
	for _, item := range e.Own {
		s.own[item]++
	}
	l := m.likely(s)
	for _, item := range e.Own {
		s.own[item] = 0
	}
	return l
}

// likely lists the items that a method gives a score to, and those of the user who is
// left out.
func (m *mixture) likely(s *mixtureScratch) network.Likely {
	list := m.listed(s)
	l := network.Likely{Items: list, Scores: make([]float32, len(list))}
	scales := make([]float64, len(m.parts))
	for k := range m.parts {
		scales[k] = (1 - m.parts[k].rest) / max(math.SmallestNonzeroFloat64, positive(s.scores[k]))
	}
	for at, item := range list {
		f, logf := 0.0, m.logs[item]
		if own := s.own[item]; own > 0 {
			f = m.frequency(m.counts[item] - own)
			logf = math.Log(f)
		} else {
			f = m.frequency(m.counts[item])
		}
		score := m.popular * logf
		for k := range m.parts {
			p := &m.parts[k]
			if x := s.scores[k][item]; x > 0 {
				score += p.power * math.Log(scales[k]*float64(x)+p.rest*f)
			} else {
				score += p.power * (p.logRest + logf)
			}
		}
		l.Scores[at] = float32(score)
	}
	return l
}

// listed are the items that an answer lists, ascending.
func (m *mixture) listed(s *mixtureScratch) []int32 {
	n := 0
	for item, own := range s.own {
		if own > 0 || scored(s.scores, item) {
			n++
		}
	}
	list := make([]int32, 0, n)
	for item, own := range s.own {
		if own > 0 || scored(s.scores, item) {
			list = append(list, int32(item))
		}
	}
	return list
}

func scored(scores [][]float32, item int) bool {
	for _, own := range scores {
		if own[item] > 0 {
			return true
		}
	}
	return false
}

// positive is the sum of the positive scores.
func positive(scores []float32) float64 {
	sum := 0.0
	for _, x := range scores {
		if x > 0 {
			sum += float64(x)
		}
	}
	return sum
}
