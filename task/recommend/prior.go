package recommend

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/gritvq/gritvq/task/recommend/classical"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

// Prior is the classical answer that a network starts from, with its arrays.
type Prior struct {
	network.Prior
	name   string // value of the setting prior
	text   string // the answer in a few words
	arrays weights.Set
}

// The values of the setting prior that name no method.
const (
	autoPrior = "auto"
	noPrior   = "none"

	popularityName = "popularity"
)

// mixture makes a [network.Prior] of a classical score s and of the number n of
// interactions of each item:
//
//	p_i ∝ ((1 - rest) s_i/Σ s + rest (n_i + 1)/Σ (n + 1))^power,  s_i ≥ 0
//
// The rest is what the method gives no score to; it makes every item possible. Memory
// is that of the method and two numbers an item.
type mixture struct {
	scorer      classical.Scorer // nil: popularity alone
	fitted      classical.Fitted // the scorer in training, otherwise nil
	counts      []float32
	total       float64 // Σ (n + 1)
	rest, power float64
	base        []float32
	scratch     sync.Pool // of *mixtureScratch
}

type mixtureScratch struct{ scores, own []float32 }

func newMixture(scorer classical.Scorer, counts []float32, rest, power float64) *mixture {
	m := &mixture{scorer: scorer, counts: counts, rest: rest, power: power}
	m.fitted, _ = scorer.(classical.Fitted)
	for _, n := range counts {
		m.total += float64(n) + 1
	}
	m.scratch.New = func() any { return &mixtureScratch{make([]float32, len(counts)), make([]float32, len(counts))} }
	m.base = make([]float32, len(counts))
	for i, n := range counts {
		m.base[i] = float32(m.log(0, m.frequency(n)))
	}
	return m
}

// frequency is the share of the interactions, given an item's number of them.
func (m *mixture) frequency(n float32) float64 { return (float64(n) + 1) / m.total }

// log is the score of an item by its shares of the method's score and of interactions.
func (m *mixture) log(share, frequency float64) float64 {
	return m.power * math.Log((1-m.rest)*share+m.rest*frequency)
}

// Base implements network.Prior.
func (m *mixture) Base() []float32 { return m.base }

// Answer implements network.Prior.
func (m *mixture) Answer(q Question) network.Likely {
	s := m.scratch.Get().(*mixtureScratch)
	defer m.scratch.Put(s)
	if m.scorer == nil {
		return network.Likely{}
	}
	m.scorer.Score(q.History, s.scores)
	return m.likely(s)
}

// AnswerWithout implements network.Prior.
func (m *mixture) AnswerWithout(e Example) network.Likely {
	s := m.scratch.Get().(*mixtureScratch)
	defer m.scratch.Put(s)
	if m.fitted != nil {
		m.fitted.ScoreWithout(e.Own, e.History, s.scores)
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

// likely lists the items that the method gives a score to, and those of the user who is
// left out.
func (m *mixture) likely(s *mixtureScratch) network.Likely {
	sum, n := 0.0, 0
	for i, x := range s.scores {
		if x > 0 {
			sum += float64(x)
		}
		if x > 0 || s.own[i] > 0 {
			n++
		}
	}
	l := network.Likely{Items: make([]int32, 0, n), Scores: make([]float32, 0, n)}
	for i, x := range s.scores {
		if x <= 0 && s.own[i] == 0 {
			continue
		}
		share := 0.0
		if x > 0 {
			share = float64(x) / sum
		}
		l.Items = append(l.Items, int32(i))
		l.Scores = append(l.Scores, float32(m.log(share, m.frequency(m.counts[i]-s.own[i]))))
	}
	return l
}

// calibrated returns the mixture whose rest and power make the answers of validation
// questions most probable, as they are stored.
func (m *mixture) calibrated(cases []Case) *mixture {
	rest := 1.0
	if m.scorer != nil {
		rest = float64(float32(m.likeliestRest(cases)))
	}
	one := newMixture(m.scorer, m.counts, rest, 1)
	return newMixture(m.scorer, m.counts, rest, float64(float32(bestPower(one, cases))))
}

// likeliestRest finds the rest by expectation and maximization, with a power of 1.
func (m *mixture) likeliestRest(cases []Case) float64 {
	var shares, frequencies []float64 // of the answers
	scores := make([]float32, len(m.counts))
	for _, c := range cases {
		m.scorer.Score(c.History, scores)
		sum := 0.0
		for _, x := range scores {
			sum += max(0, float64(x))
		}
		if sum > 0 { // otherwise the case does not tell the one from the other
			answer := c.Relevant[0]
			shares = append(shares, max(0, float64(scores[answer]))/sum)
			frequencies = append(frequencies, m.frequency(m.counts[answer]))
		}
	}
	rest := 0.5
	for range 100 {
		expected := 0.0
		for i, share := range shares {
			expected += rest * frequencies[i] / (rest*frequencies[i] + (1-rest)*share)
		}
		if len(shares) > 0 {
			rest = min(0.99, max(0.001, expected/float64(len(shares))))
		}
	}
	return rest
}

// powerCases is the number of questions that a power is chosen by.
const powerCases = 300

// bestPower returns the factor of a prior's scores that makes the answers of questions
// most probable.
func bestPower(p network.Prior, cases []Case) float64 {
	base := p.Base()
	step := max(1, len(cases)/powerCases)
	var asked []Case
	var answers []network.Likely
	for i := 0; i < len(cases); i += step {
		asked, answers = append(asked, cases[i]), append(answers, p.Answer(cases[i].Question))
	}
	likelihood := func(power float64) float64 {
		whole := 0.0
		for _, x := range base {
			whole += math.Exp(power * float64(x))
		}
		sum := 0.0
		for i, l := range answers {
			total := whole
			for at, item := range l.Items {
				total += math.Exp(power*float64(l.Scores[at])) - math.Exp(power*float64(base[item]))
			}
			for _, answer := range asked[i].Relevant {
				score := base[answer]
				if at, found := slices.BinarySearch(l.Items, answer); found {
					score = l.Scores[at]
				}
				sum += (power*float64(score) - math.Log(total)) / float64(len(asked[i].Relevant))
			}
		}
		return sum
	}
	low, high := 0.1, 4.0
	for range 12 { // the likelihood has one maximum
		a, b := low*math.Pow(high/low, 0.382), low*math.Pow(high/low, 0.618)
		if likelihood(a) > likelihood(b) {
			high = b
		} else {
			low = a
		}
	}
	return math.Sqrt(low * high)
}

// startMethods are the methods that a recommender may start from.
var startMethods = []startMethod{
	{"transitions", classical.DefaultTransitions()}, {"itemknn", classical.DefaultItemKNN()}, {"ease", classical.DefaultEASE()},
	{popularityName, classical.Popularity{}},
}

type startMethod struct {
	name   string
	method classical.Method
}

// quickRegression is the number of items up to which EASE is fitted only to see
// whether it is the best method: its time grows with their cube.
const quickRegression = 5000

// fitPrior fits a method on the training part of a log; auto is the one of the best
// NDCG@10 on validation users, at most so many.
func fitPrior(ctx context.Context, d *Dataset, name string, limit int) (*Prior, error) {
	var p *Prior
	var fitted classical.Fitted
	var method classical.Method
	best := -1.0
	for _, m := range startMethods {
		skipped := m.name == popularityName || m.name == "ease" && d.Table.Len() > quickRegression
		if name != m.name && (name != autoPrior || skipped) {
			continue
		}
		own, counted, err := chooseMethod(ctx, d, m.method, limit)
		if err != nil {
			return nil, err
		}
		score, err := d.validate(ctx, counted, limit)
		if err != nil {
			return nil, err
		}
		if score > best {
			best, p, fitted, method = score, &Prior{name: m.name}, counted, own
		}
	}
	if p == nil {
		return nil, fmt.Errorf("there is no classical method %q to start from", name)
	}
	var scorer classical.Scorer = fitted
	if p.name == popularityName {
		scorer = nil
	}
	mixed := newMixture(scorer, d.popularity(), 0.5, 1).calibrated(d.Cases(ValidationPart, limit))
	w := method.Weightings()[0]
	p.Prior = mixed
	p.text = fmt.Sprintf("%s, %.0f %% popularity, to the power of %.2f", method, 100*mixed.rest, mixed.power)
	p.arrays = weights.Set{
		countsPath:   {Shape: []int{len(mixed.counts)}, Data: mixed.counts},
		settingsPath: {Shape: []int{4}, Data: []float32{float32(w.Last), float32(w.Decay), float32(mixed.rest), float32(mixed.power)}},
	}
	if scorer != nil {
		p.arrays.Merge(methodPath, fitted.Pack())
	}
	return p, nil
}

// The paths of a stored prior, below priorPath.
const (
	priorPath    = "prior"
	methodPath   = "method"
	countsPath   = "counts"
	settingsPath = "settings" // last and decay of the method, rest, power
)

// loadPrior makes a prior of stored variables, for a catalogue that may have more items
// than the one it was fitted on.
func loadPrior(set weights.Set, name string, items int) (network.Prior, error) {
	arrays := set.Sub(priorPath)
	counts, settings := arrays[countsPath], arrays[settingsPath]
	if counts == nil || len(counts.Data) > items || settings == nil || len(settings.Data) != 4 {
		return nil, fmt.Errorf("the table that the model starts from is incomplete or is not of these %d items", items)
	}
	counted := append(slices.Clone(counts.Data), make([]float32, items-len(counts.Data))...)
	last, decay, rest, power := settings.Data[0], settings.Data[1], settings.Data[2], settings.Data[3]
	if name == popularityName {
		return newMixture(nil, counted, float64(rest), float64(power)), nil
	}
	at := slices.IndexFunc(startMethods, func(m startMethod) bool { return m.name == name })
	if at < 0 {
		return nil, fmt.Errorf("there is no classical method %q to start from", name)
	}
	method := startMethods[at].method.With(classical.Weighting{Last: int(last), Decay: float64(decay)})
	scorer, err := method.Load(arrays.Sub(methodPath), items)
	if err != nil {
		return nil, err
	}
	return newMixture(scorer, counted, float64(rest), float64(power)), nil
}

// joined are a model's variables with the arrays of its prior.
func (p *Prior) joined(set weights.Set) weights.Set {
	if p == nil {
		return set
	}
	return maps.Clone(set).Merge(priorPath, p.arrays)
}

// learned are the variables of a model without the arrays of its prior.
func learned(set weights.Set) weights.Set {
	rest := maps.Clone(set)
	maps.DeleteFunc(rest, func(path string, _ *weights.Array) bool { return strings.HasPrefix(path, priorPath+"/") })
	return rest
}
