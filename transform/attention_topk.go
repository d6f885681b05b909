package transform

import (
	"fmt"
	"math/rand/v2"

	"github.com/gritvq/gritvq/weights"
)

// topKMixer is attention over the TopK nearest raw codes of a code, itself
// included: the k-NN graph of the last refresh, with attentionMixer's scores.
type topKMixer struct{}

func (topKMixer) check(c Config, k, _ int) error {
	if c.TopK < 1 || c.TopK > k {
		return fmt.Errorf("topk is %d: use 1 to the number of codes, %d", c.TopK, k)
	}
	return c.checkScores()
}

func (topKMixer) parameters(c Config, _, d int) int { return 2*d*c.ScoreDim + 1 }

func (topKMixer) start(c Config, set weights.Set, codes *weights.Array, rng *rand.Rand) error {
	if err := c.Refresh(set, codes); err != nil {
		return err
	}
	return c.startScores(set, codes, rng)
}

func (topKMixer) mix(c Config, p variables) []float64 { return newAttentionRows(c, p).all() }

func (topKMixer) place(c Config, set weights.Set, codes *weights.Array, rows []int, y []float64, mode PlaceMode) ([]Touched, error) {
	return attentionMixer{}.place(c, set, codes, rows, y, mode)
}
