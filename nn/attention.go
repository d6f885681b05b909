package nn

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/weights"
)

// Attention lets every vector of a sequence gather from another sequence, or its own,
// by several heads (Vaswani et al., 2017), without biases. Heads · HeadDim need not be
// Width.
type Attention struct {
	Width, Heads, HeadDim int
	Dropout               float64 // of the attention weights
}

// KeyValues are the keys and values of a sequence, both [B, Heads, S, HeadDim].
type KeyValues struct {
	Keys, Values *graph.Node
}

// Flatten returns the keys and values of all layers, as programs pass them on.
func Flatten(all []KeyValues) []*graph.Node {
	var nodes []*graph.Node
	for _, kv := range all {
		nodes = append(nodes, kv.Keys, kv.Values)
	}
	return nodes
}

// Pair undoes Flatten.
func Pair(nodes []*graph.Node) []KeyValues {
	all := make([]KeyValues, len(nodes)/2)
	for i := range all {
		all[i] = KeyValues{Keys: nodes[2*i], Values: nodes[2*i+1]}
	}
	return all
}

func (a Attention) inner() int { return a.Heads * a.HeadDim }

// Init returns "query", "key" and "value" [Width, Heads·HeadDim] and "output"
// [Heads·HeadDim, Width], Gaussian, scaled to keep the size of the signal.
func (a Attention) Init(rng *rand.Rand) weights.Set {
	set := weights.Set{}
	for _, name := range []string{"query", "key", "value"} {
		set[name] = weights.Normal(rng, 1/math.Sqrt(float64(a.Width)), a.Width, a.inner())
	}
	set["output"] = weights.Normal(rng, 1/math.Sqrt(float64(a.inner())), a.inner(), a.Width)
	return set
}

// View is that of x [B, T, Width] on source [B, S, Width]; bias is [1, Heads, T, S] or
// nil.
func (a Attention) View(x, source *graph.Node, mask Mask, bias *graph.Node) View {
	return NewView(x, [4]int{x.Shape().Dim(0), a.Heads, x.Shape().Dim(1), source.Shape().Dim(1)}, mask, bias)
}

// Build lets x [B, T, Width] gather from source [B, S, Width]: [B, T, Width].
func (a Attention) Build(v weights.Vars, x, source *graph.Node, view View, random *Random) *graph.Node {
	return a.Recall(v, x, a.Remember(v, source, random), view)
}

// Recall is Build with keys and values computed before.
func (a Attention) Recall(v weights.Vars, x *graph.Node, source KeyValues, view View) *graph.Node {
	gathered := attend(a.split(a.queries(v, x)), source.Keys, source.Values, view)
	return linear(a.join(gathered), v.Get("output"))
}

// queries returns the queries [B, T, Heads·HeadDim] of x, which carry the scale of the scores. Scaling the matrix is less work than
// scaling queries or scores; a matrix of reduced precision, as a loop over places has it, would be scaled inexactly.
func (a Attention) queries(v weights.Vars, x *graph.Node) *graph.Node {
	matrix, scale := v.Get("query"), 1/math.Sqrt(float64(a.HeadDim))
	if inFull(matrix) != matrix {
		return graph.ConvertDType(graph.MulScalar(inFull(linear(x, matrix)), scale), x.DType())
	}
	return linear(x, graph.MulScalar(matrix, scale))
}

// Remember computes the keys and values of source [B, S, Width], for Recall. It drops
// attention weights as T5 does, the same for all queries: a dropped weight is a dropped value.
func (a Attention) Remember(v weights.Vars, source *graph.Node, random *Random) KeyValues {
	return KeyValues{
		Keys:   a.split(linear(source, v.Get("key"))),
		Values: random.Dropout(a.split(linear(source, v.Get("value"))), a.Dropout, 3),
	}
}

// split turns [B, T, Heads·HeadDim] into [B, Heads, T, HeadDim].
func (a Attention) split(x *graph.Node) *graph.Node {
	b, t := x.Shape().Dim(0), x.Shape().Dim(1)
	if t == 1 { // nothing to transpose
		return graph.Reshape(x, b, a.Heads, 1, a.HeadDim)
	}
	return graph.TransposeAllAxes(graph.Reshape(x, b, t, a.Heads, a.HeadDim), 0, 2, 1, 3)
}

func (a Attention) join(x *graph.Node) *graph.Node {
	b, t := x.Shape().Dim(0), x.Shape().Dim(2)
	if t > 1 {
		x = graph.TransposeAllAxes(x, 0, 2, 1, 3)
	}
	return graph.Reshape(x, b, t, a.inner())
}

// linear maps the vectors of x [..., in] by matrix [in, out], in the precision of x.
func linear(x, matrix *graph.Node) *graph.Node {
	dims := slices.Clone(x.Shape().Dimensions)
	product := Product
	if len(dims) == 3 && dims[1] == 1 {
		// A step without gradients. The engine would copy the matrix for Product's.
		product = func(x, w *graph.Node) *graph.Node { return graph.Dot(x, w).Product() }
	}
	y := product(graph.Reshape(x, -1, dims[len(dims)-1]), graph.ConvertDType(matrix, x.DType()))
	dims[len(dims)-1] = matrix.Shape().Dim(1)
	return graph.Reshape(y, dims...)
}
