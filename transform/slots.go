package transform

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// The functions below are sparse products over a neighbour list, each the other's
// gradient. slots[j] [N,1] is the row of a table [K,c] that slot j of row n refers to.

// neighbourSum returns sum_j weight[n,j] table[slot_j(n)], [N,c].
func neighbourSum(weight, table *Node, slots []*Node) *Node {
	return withGradient([]*Node{weight, table},
		func(in []*Node) *Node { return sumSlots(in[0], in[1], slots) },
		func(in []*Node, v *Node) []*Node {
			return []*Node{dotSlots(v, in[1], slots), scatterSlots(in[0], v, in[1], slots)}
		})
}

// neighbourDot returns <x[n], table[slot_j(n)]>, [N,k].
func neighbourDot(x, table *Node, slots []*Node) *Node {
	return withGradient([]*Node{x, table},
		func(in []*Node) *Node { return dotSlots(in[0], in[1], slots) },
		func(in []*Node, v *Node) []*Node {
			return []*Node{sumSlots(v, in[1], slots), scatterSlots(v, in[0], in[1], slots)}
		})
}

func sumSlots(weight, table *Node, slots []*Node) *Node {
	weights := columns(weight)
	sum := Mul(Gather(table, slots[0]), weights[0])
	for j := 1; j < len(slots); j++ {
		sum = Add(sum, Mul(Gather(table, slots[j]), weights[j]))
	}
	return sum
}

func dotSlots(x, table *Node, slots []*Node) *Node {
	products := make([]*Node, len(slots))
	for j, slot := range slots {
		products[j] = ReduceAndKeep(Mul(x, Gather(table, slot)), ReduceSum, -1)
	}
	return Concatenate(products, -1)
}

// scatterSlots adds weight[n,j] x[n] to row slot_j(n) of zeros shaped as table.
func scatterSlots(weight, x, table *Node, slots []*Node) *Node {
	sum := ZerosLike(table)
	for j, column := range columns(weight) {
		sum = ScatterSum(sum, slots[j], Mul(x, column), false, false)
	}
	return sum
}

// columns splits [N,k] into k nodes [N,1].
func columns(x *Node) []*Node {
	list := make([]*Node, x.Shape().Dimensions[1])
	for j := range list {
		list[j] = Slice(x, AxisRange(), AxisElem(j))
	}
	return list
}

// withGradient builds forward(inputs) with a hand-written gradient: backward maps
// the adjoint of the result to the inputs'. The nodes that automatic
// differentiation derives from forward are left unused, and never run.
func withGradient(inputs []*Node, forward func(in []*Node) *Node, backward func(in []*Node, v *Node) []*Node) *Node {
	var adjoints []*Node
	wrapped := make([]*Node, len(inputs))
	for i, input := range inputs {
		wrapped[i] = IdentityWithCustomGradient(input, func(_, _ *Node) *Node { return adjoints[i] })
	}
	return IdentityWithCustomGradient(forward(wrapped), func(_, v *Node) *Node {
		adjoints = backward(wrapped, v)
		return v
	})
}
