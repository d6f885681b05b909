package nn

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
)

// Mask says which keys a query sees. The zero value hides nothing.
type Mask struct {
	// Lengths [B] (int32), where not nil, is the number of keys of each sequence:
	// those that follow are padding.
	Lengths *graph.Node
	// Causal hides from every query the keys after it; the last query is at the
	// place of the last key.
	Causal bool
}

// hidden is added to scores of keys that are not seen: far below any score, and
// finite, so that rows without any visible key have no NaN.
const hidden = -1e30

// visible is 1 for keys that are seen and 0 for others, in a shape that
// broadcasts to scores [B, Heads, T, S]; nil if all are seen.
func (m Mask) visible(scores *graph.Node) *graph.Node {
	g, dtype := scores.Graph(), scores.DType()
	dims := scores.Shape().Dimensions
	batch, queries, keys := dims[0], dims[2], dims[3]
	var all *graph.Node
	if m.Lengths != nil {
		places := constantRow(g, keys, func(j int) int32 { return int32(j) })
		seen := graph.LessThan(graph.Reshape(places, 1, keys), graph.Reshape(m.Lengths, batch, 1))
		all = graph.Reshape(graph.ConvertDType(seen, dtype), batch, 1, 1, keys)
	}
	if m.Causal && queries > 1 {
		seen := constantRow(g, queries*keys, func(i int) int32 {
			if i%keys <= i/keys+keys-queries {
				return 1
			}
			return 0
		})
		causal := graph.Reshape(graph.ConvertDType(seen, dtype), 1, 1, queries, keys)
		if all == nil {
			return causal
		}
		all = graph.Mul(all, causal)
	}
	return all
}

// attend returns softmax(q kᵀ + bias) v [B, H, T, d] for q [B, H, T, d] and k and
// v [B, H, S, d]. A hidden key has weight exactly 0 and its gradients are exactly
// 0; where all keys are hidden the result is 0. The softmax is taken in float32
// or better whatever the precision of q.
//
// The gradient is written out. With P the weights, O the result and v̄ its
// adjoint: dV = Pᵀ v̄, dS = P ∘ (v̄ Vᵀ - rowsum(v̄ ∘ O)), dQ = dS K, dK = dSᵀ Q.
func attend(q, k, v *graph.Node, mask Mask, bias *graph.Node) *graph.Node {
	precision := inFull(q).DType()
	scores := timesTransposed(q, k, precision)
	inputs := []*graph.Node{q, k, v}
	if bias != nil {
		inputs = append(inputs, bias)
		scores = graph.Add(scores, graph.ConvertDType(bias, precision))
	}
	visible := mask.visible(scores)
	if visible != nil {
		scores = graph.Add(scores, graph.MulScalar(graph.OneMinus(visible), hidden))
	}
	weights := graph.Softmax(scores, -1)
	if visible != nil {
		weights = graph.Mul(weights, visible)
	}
	result := times(graph.ConvertDType(weights, v.DType()), v)
	return withGradients(result, inputs, func(adjoint *graph.Node) []*graph.Node {
		along := graph.ReduceAndKeep(graph.Mul(inFull(adjoint), inFull(result)), graph.ReduceSum, -1) // [B, H, T, 1]
		full := graph.Mul(weights, graph.Sub(timesTransposed(adjoint, v, precision), along))
		slope := graph.ConvertDType(full, q.DType()) // dS
		gradients := []*graph.Node{
			times(slope, k),
			times(swapped(slope), q),
			times(swapped(graph.ConvertDType(weights, v.DType())), adjoint),
		}
		if bias != nil {
			sum := graph.Reshape(graph.ReduceSum(full, 0), bias.Shape().Dimensions...)
			gradients = append(gradients, graph.ConvertDType(sum, bias.DType()))
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

// swapped swaps the last two axes. The embedded engine would otherwise do so
// to both factors of a product that contracts leading axes.
func swapped(a *graph.Node) *graph.Node { return graph.TransposeAllAxes(a, 0, 1, 3, 2) }

// constantRow is a constant vector of n integers.
func constantRow(g *graph.Graph, n int, at func(i int) int32) *graph.Node {
	values := make([]int32, n)
	for i := range values {
		values[i] = at(i)
	}
	return graph.Const(g, values)
}
