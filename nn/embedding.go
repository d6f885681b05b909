package nn

import (
	"math/rand/v2"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/weights"
)

// Embedding is a table of learned vectors, one a token.
type Embedding struct {
	Rows, Width int
	Deviation   float64 // standard deviation of the initial vectors; 0 is 1
}

// Init returns "table" [Rows, Width], Gaussian.
func (e Embedding) Init(rng *rand.Rand) weights.Set {
	deviation := e.Deviation
	if deviation == 0 {
		deviation = 1
	}
	return weights.Set{"table": weights.Normal(rng, deviation, e.Rows, e.Width)}
}

// Build looks up tokens [...], integers below Rows: [..., Width]. The gradient
// of the table adds up the adjoints of equal tokens. The engine moves tokens
// that are out of range to the nearest row without a word, so that callers check
// them on the host.
func (e Embedding) Build(v weights.Vars, tokens *graph.Node) *graph.Node {
	return graph.Gather(v.Get("table"), graph.ExpandAxes(tokens, -1))
}
