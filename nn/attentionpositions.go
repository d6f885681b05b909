package nn

import (
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/weights"
)

// RelativePositions is a learned bias of attention scores by the distance
// between query and key, as in T5 (Raffel et al., 2020): near distances have one
// bucket each, farther ones share buckets that widen with their logarithm.
type RelativePositions struct {
	Heads    int
	Buckets  int     // 0 is 32
	Distance int     // all that is at least this far shares the last bucket; 0 is 128
	Causal   bool    // no key follows its query, so that all buckets look back
	Scale    float64 // standard deviation of the initial biases
}

func (p RelativePositions) buckets() int { return orDefault(p.Buckets, 32) }

// Init returns "bias" [Buckets, Heads], Gaussian.
func (p RelativePositions) Init(rng *rand.Rand) weights.Set {
	return weights.Set{"bias": weights.Normal(rng, p.Scale, p.buckets(), p.Heads)}
}

// Build returns the bias [1, Heads, queries, keys] of queries that are at the
// places of the last keys.
func (p RelativePositions) Build(v weights.Vars, g *graph.Graph, queries, keys int) *graph.Node {
	buckets := constantRow(g, queries*keys, func(i int) int32 {
		return int32(p.bucket(i%keys - (i/keys + keys - queries)))
	})
	bias := graph.Gather(v.Get("bias"), graph.ExpandAxes(buckets, -1)) // [queries·keys, Heads]
	return graph.Reshape(graph.Transpose(bias, 0, 1), 1, p.Heads, queries, keys)
}

// bucket returns the bucket of a key that is ahead of its query by a number of
// places, which is negative for keys that precede it.
func (p RelativePositions) bucket(ahead int) int {
	buckets, first := p.buckets(), 0
	far := -ahead
	if p.Causal {
		far = max(0, far)
	} else {
		buckets /= 2
		if ahead > 0 {
			first, far = buckets, ahead
		}
	}
	exact := buckets / 2
	if far < exact {
		return first + far
	}
	span := math.Log(float64(orDefault(p.Distance, 128)) / float64(exact))
	wide := int(math.Log(float64(far)/float64(exact)) / span * float64(buckets-exact))
	return first + min(buckets-1, exact+wide)
}
