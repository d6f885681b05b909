package recommend

import (
	"slices"

	"github.com/gritvq/gritvq/task/recommend/network"
)

// leastPower is the power of a method that takes part in a mixture.
const leastPower = 0.02

// calibrated returns the mixture whose rests and powers make the answers of validation
// questions most probable, as they are stored: each rest by its method alone, the powers
// together. A method of almost no power is left out, unless it is the only one.
func (m *mixture) calibrated(cases []Case, dropSeen bool) *mixture {
	parts := slices.Clone(m.parts)
	for k := range parts {
		parts[k].rest, parts[k].power = float64(float32(m.likeliestRest(k, cases))), 1
	}
	for {
		priors, start := []network.Prior{newMixture(nil, 1, m.counts)}, []float64{0}
		for _, p := range parts {
			priors, start = append(priors, newMixture([]part{p}, 0, m.counts)), append(start, 1/float64(len(parts)))
		}
		if len(parts) == 0 {
			start[0] = 1
		}
		powers := likeliestPowers(priors, start, cases, dropSeen)
		weakest := 0
		for k := range parts {
			if powers[1+k] < powers[1+weakest] {
				weakest = k
			}
		}
		if len(parts) > 1 && powers[1+weakest] < leastPower {
			parts = slices.Delete(parts, weakest, weakest+1)
			continue
		}
		for k := range parts {
			parts[k].power = float64(float32(max(leastPower, powers[1+k])))
		}
		return newMixture(parts, float64(float32(powers[0])), m.counts)
	}
}

// likeliestRest finds the rest of a part by expectation and maximization.
func (m *mixture) likeliestRest(k int, cases []Case) float64 {
	var shares, frequencies []float64 // of the answers
	scores := make([]float32, len(m.counts))
	for _, c := range cases {
		m.parts[k].scorer.Score(c.History, scores)
		if sum := positive(scores); sum > 0 { // otherwise the case does not tell the one from the other
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
