package classical

import (
	"context"

	"github.com/gritvq/gritvq/weights"
)

// Popularity scores an item by how often it was taken.
type Popularity struct{}

// String describes the method.
func (Popularity) String() string { return "popularity" }

// Alternatives are none.
func (m Popularity) Alternatives() []Method { return []Method{m} }

// Weightings is one, which does nothing.
func (Popularity) Weightings() []Weighting { return []Weighting{{}} }

// With is the method itself.
func (m Popularity) With(Weighting) Method { return m }

// Fit counts.
func (Popularity) Fit(_ context.Context, log Log) (Fitted, error) {
	if err := log.check(); err != nil {
		return nil, err
	}
	return popular(countsOf(log)), nil
}

// Load makes a scorer of packed arrays.
func (Popularity) Load(set weights.Set, items int) (Scorer, error) {
	return unpackVector(set, countsPath, items)
}

// popular is the number of interactions of each item.
type popular []float32

func countsOf(log Log) []float32 {
	counts := make([]float32, log.Items)
	for item, n := range log.Counts() {
		counts[item] = float32(n)
	}
	return counts
}

// Score does not depend on the history.
func (p popular) Score(_ []int32, scores []float32) { copy(scores, p) }

func (p popular) ScoreWithout(own, _ []int32, scores []float32) {
	copy(scores, p)
	for _, item := range own {
		scores[item]--
	}
}

func (p popular) With(Weighting) Fitted { return p }

const countsPath = "counts"

func (p popular) Pack() weights.Set {
	return weights.Set{countsPath: {Shape: []int{len(p)}, Data: p}}
}
