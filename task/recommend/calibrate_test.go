package recommend

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gritvq/gritvq/task/recommend/network"
)

// Answers are less probable with any other power, and with another rest of a method by
// itself.
func TestCalibration(t *testing.T) {
	d, _ := shopData(t, 400)
	cases := d.Cases(ValidationPart, 0)
	var parts []part
	for _, m := range startMethods {
		fitted, err := m.method.Fit(t.Context(), d.counted())
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part{name: m.name, method: m.method, scorer: fitted})
	}
	likelihood := func(p network.Prior) float64 {
		sum := 0.0
		for _, c := range cases {
			scores, total := scoresOf(p, p.Answer(c.Question)), 0.0
			for item, x := range scores {
				if !slices.Contains(c.History, int32(item)) {
					total += math.Exp(float64(x))
				}
			}
			sum += float64(scores[c.Relevant[0]]) - math.Log(total)
		}
		return sum
	}
	alone := newMixture(parts[:1], 0, d.popularity()).calibrated(cases, true)
	p := newMixture(parts, 0, d.popularity()).calibrated(cases, true)
	best := likelihood(p)
	if best < likelihood(alone)-1e-6 {
		t.Errorf("%s has a likelihood of %g, %s one of %g", p, best, alone, likelihood(alone))
	}
	for k := range p.parts {
		for _, factor := range []float64{0.8, 1.25} {
			other := slices.Clone(p.parts)
			other[k].power *= factor
			if x := likelihood(newMixture(other, p.popular, p.counts)); x > best {
				t.Errorf("power %g of %s has a likelihood of %g, more than %g of %s", other[k].power, other[k].name, x, best, p)
			}
		}
	}
	for _, change := range []float64{-0.1, 0.1} {
		if x := likelihood(newMixture(p.parts, p.popular+change, p.counts)); x > best {
			t.Errorf("popularity to the power of %g has a likelihood of %g, more than %g of %s", p.popular+change, x, best, p)
		}
	}
	rest := alone.parts[0]
	rest.power = 1
	one := likelihoodWhole(newMixture([]part{rest}, 0, p.counts), cases)
	rest.rest = min(0.99, rest.rest*1.5)
	if x := likelihoodWhole(newMixture([]part{rest}, 0, p.counts), cases); x > one {
		t.Errorf("a rest of %g is likelier: %g, not %g", rest.rest, x, one)
	}
}

// given is a prior of known scores.
type given struct {
	base   []float32
	scores map[string][]float32
}

func (g given) Base() []float32 { return g.base }
func (g given) Answer(q Question) network.Likely {
	l := network.Likely{}
	for i, x := range g.scores[q.Name] {
		if i%3 != 0 { // the others have those of the base
			l.Items, l.Scores = append(l.Items, int32(i)), append(l.Scores, x)
		}
	}
	return l
}
func (g given) AnswerWithout(e Example) network.Likely { return g.Answer(e.Question) }

// The powers that answers were drawn with are found again, with items that may not be
// answers among them or without.
func TestLikeliestPowers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) []float32 {
		list := make([]float32, n)
		for i := range list {
			list[i] = float32(rng.NormFloat64())
		}
		return list
	}
	const items, questions = 30, 500
	want := []float64{1.3, 0.4}
	priors := []given{{draw(items), map[string][]float32{}}, {draw(items), map[string][]float32{}}}
	for _, dropSeen := range []bool{false, true} {
		var cases []Case
		for i := range questions {
			c := Case{Question: Question{Name: fmt.Sprint(i), History: []int32{int32(i % items), int32(i * 7 % items)}}}
			masses, total := make([]float64, items), 0.0
			for k := range priors {
				priors[k].scores[c.Name] = draw(items)
			}
			for item := range masses {
				score := 0.0
				for k, p := range priors {
					score += want[k] * float64(p.Answer(c.Question).Score(p.base, int32(item)))
				}
				if !dropSeen || !slices.Contains(c.History, int32(item)) {
					masses[item] = math.Exp(score)
				}
				total += masses[item]
			}
			at, item := rng.Float64()*total, 0
			for at -= masses[0]; at > 0; at -= masses[item] {
				item++
			}
			c.Relevant = []int32{int32(item)}
			cases = append(cases, c)
		}
		got := likeliestPowers([]network.Prior{priors[0], priors[1]}, []float64{1, 1}, cases, dropSeen)
		for k := range want {
			if math.Abs(got[k]-want[k]) > 0.12 { // two standard errors
				t.Errorf("seen items dropped %v: powers %v, drawn with %v", dropSeen, got, want)
				break
			}
		}
	}
}

// likelihoodWhole is that of answers among all items.
func likelihoodWhole(p network.Prior, cases []Case) float64 {
	sum := 0.0
	for _, c := range cases {
		scores, total := scoresOf(p, p.Answer(c.Question)), 0.0
		for _, x := range scores {
			total += math.Exp(float64(x))
		}
		sum += float64(scores[c.Relevant[0]]) - math.Log(total)
	}
	return sum
}
