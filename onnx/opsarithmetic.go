package onnx

import (
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
)

func identity(b *builder, n *node) value { return b.value(n, 0) }

func relu(x *Node) *Node { return MaxScalar(x, 0) }

func elementwise(f func(x *Node) *Node) operator {
	return func(b *builder, n *node) value { return value{node: f(b.tensor(n, 0))} }
}

// pairwise combines two tensors element by element; axes of size 1 are repeated.
func pairwise(f func(x, y *Node) *Node) operator {
	return func(b *builder, n *node) value {
		x, y := b.tensor(n, 0), b.tensor(n, 1)
		rank := max(x.Rank(), y.Rank())
		return value{node: f(withRank(x, rank), withRank(y, rank))}
	}
}

// withRank puts axes of size 1 before the file's first axis.
func withRank(x *Node, rank int) *Node {
	if x.Rank() == rank || x.IsScalar() {
		return x
	}
	dims := append(slices.Repeat([]int{1}, rank-x.Rank()), x.Shape().Dimensions...)
	return asStored(Reshape(x, dims...))
}

func leakyRelu(b *builder, n *node) value {
	x := b.tensor(n, 0)
	return value{node: Add(MaxScalar(x, 0), MulScalar(MinScalar(x, 0), n.float("alpha", 0.01)))}
}

func clip(b *builder, n *node) value {
	x := b.tensor(n, 0)
	if low := b.bound(n, 1, "min"); !math.IsInf(low, 0) {
		x = MaxScalar(x, low)
	}
	if high := b.bound(n, 2, "max"); !math.IsInf(high, 0) {
		x = MinScalar(x, high)
	}
	return value{node: x}
}

// bound is a limit of Clip: an attribute in old operator sets, later an input;
// infinite by default.
func (b *builder) bound(n *node, k int, name string) float64 {
	if n.attributes[name] != nil {
		return float64(n.float(name, 0))
	}
	if !n.has(k) {
		return math.Inf(1)
	}
	return b.scalar(n, k, "its limits have to be constants")
}

// scalar returns input k, which has to be a constant number.
func (b *builder) scalar(n *node, k int, problem string) float64 {
	t := b.model.constants[n.inputs[k]]
	if t == nil || len(t.float) != 1 {
		b.fail(n, "%s", problem)
	}
	return float64(t.float[0])
}

func softmax(b *builder, n *node) value {
	x := b.tensor(n, 0)
	otherwise := -1
	if b.model.opset < 13 {
		otherwise = 1 // and all axes from there are one
	}
	axis := b.axis(n, n.int("axis", otherwise), x.Rank())
	if b.model.opset < 13 && axis != x.Rank()-1 {
		b.fail(n, "before operator set 13 it is supported over the last axis only")
	}
	return value{node: Softmax(x, storedAxis(axis, x.Rank()))}
}

func gemm(b *builder, n *node) value {
	x, w := b.tensor(n, 0), b.tensor(n, 1)
	if n.int("transA", 0) != 0 || x.Rank() != 2 || w.Rank() != 2 {
		b.fail(n, "it is supported for rows times a matrix only")
	}
	if n.int("transB", 0) != 0 && b.model.constants[n.inputs[1]] == nil {
		w = Transpose(w, 0, 1) // a constant one was transposed when it was read
	}
	y := Dot(x, w).Product()
	if alpha := n.float("alpha", 1); alpha != 1 {
		y = MulScalar(y, alpha)
	}
	if n.has(2) {
		c := b.tensor(n, 2)
		if beta := n.float("beta", 1); beta != 1 {
			c = MulScalar(c, beta)
		}
		y = Add(y, withRank(c, 2))
	}
	return value{node: y}
}

func matMul(b *builder, n *node) value {
	x, w := b.tensor(n, 0), b.tensor(n, 1)
	if x.Rank() < 2 || x.Rank() > 3 || w.Rank() != 2 {
		b.fail(n, "it is supported for rows times a matrix only")
	}
	dims := slices.Clone(x.Shape().Dimensions)
	dims[len(dims)-1] = w.Shape().Dim(1)
	y := Dot(Reshape(x, -1, w.Shape().Dim(0)), w).Product()
	return value{node: Reshape(y, dims...)}
}
