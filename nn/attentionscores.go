package nn

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
)

// Mask says which keys a query sees. The zero value hides nothing.
type Mask struct {
	Lengths *graph.Node // [B] (int32) keys of each sequence before its padding, or nil
	Causal  bool        // hide later keys; the last query is at the place of the last key
}

// View is the mask and the bias of attention scores, shared by layers. The zero value
// hides nothing and has no bias.
type View struct {
	bias    *graph.Node // [1, Heads, T, S], or nil
	offset  *graph.Node // added to the scores, the bias included; or nil
	visible *graph.Node // 1 for keys that are seen, 0 for others; or nil
}

// hidden is added to the scores of hidden keys. It is finite, so that queries without
// any visible key have no NaN.
const hidden = -1e30

// NewView makes the view of scores [batch, heads, queries, keys] with a bias
// [1, heads, queries, keys] or nil, in the precision of like.
func NewView(like *graph.Node, dims [4]int, mask Mask, bias *graph.Node) View {
	precision := inFull(like).DType()
	view := View{bias: bias, visible: mask.visible(like.Graph(), precision, dims)}
	if bias != nil {
		view.offset = graph.ConvertDType(bias, precision)
	}
	if view.visible != nil {
		view.offset = plus(view.offset, graph.MulScalar(graph.OneMinus(view.visible), hidden))
	}
	return view
}

// visible is 1 for keys that are seen and 0 for others, broadcastable to dims; nil if
// all are seen.
func (m Mask) visible(g *graph.Graph, precision dtypes.DType, dims [4]int) *graph.Node {
	batch, heads, queries, keys := dims[0], dims[1], dims[2], dims[3]
	var all *graph.Node
	if m.Lengths != nil {
		places := constantRow(g, keys, func(j int) int32 { return int32(j) })
		seen := graph.LessThan(graph.Reshape(places, 1, keys), graph.Reshape(m.Lengths, batch, 1))
		all = graph.ConvertDType(seen, precision)
		if onEmbeddedEngine(all) { // broadcast once, for all layers
			all = graph.Reshape(repeatRows(all, heads*queries), batch, heads, queries, keys)
		} else {
			all = graph.Reshape(all, batch, 1, 1, keys)
		}
	}
	if m.Causal && queries > 1 {
		seen := constantRow(g, queries*keys, func(i int) int32 {
			if i%keys <= i/keys+keys-queries {
				return 1
			}
			return 0
		})
		causal := graph.Reshape(graph.ConvertDType(seen, precision), 1, 1, queries, keys)
		if all == nil {
			return causal
		}
		all = graph.Mul(all, causal)
	}
	return all
}

// attend returns softmax(q kᵀ + bias) v [B, H, T, d] for q [B, H, T, d] and k and v
// [B, H, S, d]. Weight and gradients of a hidden key are exactly 0; where all keys are
// hidden the result is 0. The softmax is taken in float32 or better.
//
// With P the weights, O the result and v̄ its adjoint:
// dV = Pᵀ v̄, dS = P ∘ (v̄ Vᵀ - rowsum(v̄ ∘ O)), dQ = dS K, dK = dSᵀ Q.
func attend(q, k, v *graph.Node, view View) *graph.Node {
	precision := inFull(q).DType()
	scores := timesTransposed(q, k, precision)
	if view.offset != nil {
		scores = graph.Add(scores, view.offset)
	}
	weights := graph.Softmax(scores, -1)
	if view.visible != nil {
		weights = graph.Mul(weights, view.visible) // the engine's exponential of -1e30 may be 1e-38
	}
	rounded := graph.ConvertDType(weights, v.DType()) // all that the backward pass keeps
	result := times(rounded, v)
	inputs := []*graph.Node{q, k, v}
	if view.bias != nil {
		inputs = append(inputs, view.bias)
	}
	return withGradients(result, inputs, func(adjoint *graph.Node) []*graph.Node {
		along := graph.ReduceAndKeep(graph.Mul(inFull(adjoint), inFull(result)), graph.ReduceSum, -1) // [B, H, T, 1]
		full := graph.Mul(graph.ConvertDType(rounded, precision), graph.Sub(timesTransposed(adjoint, v, precision), along))
		slope := graph.ConvertDType(full, q.DType()) // dS
		gradients := []*graph.Node{
			times(slope, k),
			times(swapped(slope), q),
			times(swapped(rounded), adjoint),
		}
		if view.bias != nil {
			sum := graph.Reshape(graph.ReduceSum(full, 0), view.bias.Shape().Dimensions...)
			gradients = append(gradients, graph.ConvertDType(sum, view.bias.DType()))
		}
		return gradients
	})
}

// times is a b over the last two axes.
func times(a, b *graph.Node) *graph.Node {
	return graph.Dot(a, b).General([]int{3}, []int{0, 1}, []int{2}, []int{0, 1})
}

// timesTransposed is a bᵀ over the last two axes, in the given precision.
func timesTransposed(a, b *graph.Node, precision dtypes.DType) *graph.Node {
	dot := graph.Dot(a, b)
	if a.DType() != precision {
		dot = dot.WithOutputDType(precision)
	}
	return dot.General([]int{3}, []int{0, 1}, []int{3}, []int{0, 1})
}

// swapped swaps the last two axes. Contracting leading axes, the embedded engine would
// do so to both factors.
func swapped(a *graph.Node) *graph.Node { return graph.TransposeAllAxes(a, 0, 1, 3, 2) }
