package transform

import (
	"math/rand/v2"
	"slices"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// identityMixer is the codebook without a transform: C' = E.
type identityMixer struct{}

func (identityMixer) check(Config, int, int) error        { return nil }
func (identityMixer) mix(_ Config, p variables) []float64 { return slices.Clone(p.get("codes")) }

func (identityMixer) start(Config, weights.Set, *weights.Array, *rand.Rand) error { return nil }

func (identityMixer) place(_ Config, _ weights.Set, codes *weights.Array, rows []int, y []float64, _ PlaceMode) ([]Touched, error) {
	return store("codes", codes, rows, y), nil
}

func (identityMixer) graph(_ Config, _ weights.Vars, codes *Node) *Node { return codes }

func (identityMixer) graphRows(_ Config, _ weights.Vars, codes, at *Node) *Node {
	return Gather(codes, at)
}
