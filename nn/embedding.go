package nn

import (
	"cmp"
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/weights"
)

// Embedding is a table of learned vectors, one a token. Rows are stored at 1/√Width of
// the vectors' size (Vaswani et al., 2017), the size of matrix values: Adam's steps
// have one size for all and would hardly move larger values.
type Embedding struct {
	Rows, Width int
}

func (e Embedding) scale() float64 { return math.Sqrt(float64(e.Width)) }

// Init returns "table" [Rows, Width], Gaussian; looked-up values have deviation 1.
func (e Embedding) Init(rng *rand.Rand) weights.Set {
	return weights.Set{"table": weights.Normal(rng, 1/e.scale(), e.Rows, e.Width)}
}

// Build looks up tokens [...], integers below Rows: [..., Width]. The engine silently
// clamps tokens out of range; callers check them on the host.
func (e Embedding) Build(v weights.Vars, tokens *graph.Node) *graph.Node {
	return graph.MulScalar(graph.Gather(v.Get("table"), graph.ExpandAxes(tokens, -1)), e.scale())
}

// Range returns the vectors of the tokens first to end-1.
func (e Embedding) Range(v weights.Vars, first, end int) *graph.Node {
	return graph.MulScalar(graph.Slice(v.Get("table"), graph.AxisRange(first, end)), e.scale())
}

// repeatRows repeats every row of x [N, C]: [N·times, C]. The embedded engine would
// broadcast a middle axis value by value; lookups copy whole rows.
func repeatRows(x *graph.Node, times int) *graph.Node {
	rows := constantRow(x.Graph(), x.Shape().Dim(0)*times, func(i int) int32 { return int32(i / times) })
	return graph.Gather(x, graph.ExpandAxes(rows, -1), true)
}

func constantRow(g *graph.Graph, n int, at func(i int) int32) *graph.Node {
	values := make([]int32, n)
	for i := range values {
		values[i] = at(i)
	}
	return graph.Const(g, values)
}

// RelativePositions is a learned bias of attention scores by the distance between
// query and key, as in T5 (Raffel et al., 2020): near distances have a bucket each,
// farther ones share buckets that widen with their logarithm.
type RelativePositions struct {
	Heads    int
	Buckets  int     // 0 is 32
	Distance int     // keys at least this far share the last bucket; 0 is 128
	Causal   bool    // no key follows its query: all buckets look back
	Scale    float64 // standard deviation of the initial biases
}

func (p RelativePositions) buckets() int { return cmp.Or(p.Buckets, 32) }

// Init returns "bias" [Buckets, Heads], Gaussian.
func (p RelativePositions) Init(rng *rand.Rand) weights.Set {
	return weights.Set{"bias": weights.Normal(rng, p.Scale, p.buckets(), p.Heads)}
}

// Build returns the bias [1, Heads, queries, keys] of queries at the last keys' places.
func (p RelativePositions) Build(v weights.Vars, g *graph.Graph, queries, keys int) *graph.Node {
	buckets := constantRow(g, queries*keys, func(i int) int32 {
		return int32(p.Bucket(i%keys - (i/keys + keys - queries)))
	})
	bias := graph.Gather(v.Get("bias"), graph.ExpandAxes(buckets, -1)) // [queries·keys, Heads]
	return graph.Reshape(graph.Transpose(bias, 0, 1), 1, p.Heads, queries, keys)
}

// Bucket is the bucket of a key's distance from its query, negative if the key precedes.
func (p RelativePositions) Bucket(ahead int) int {
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
	span := math.Log(float64(cmp.Or(p.Distance, 128)) / float64(exact))
	wide := int(math.Log(float64(far)/float64(exact)) / span * float64(buckets-exact))
	return first + min(buckets-1, exact+wide)
}
