package onnx

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/weights"
)

// value is a tensor while the graph is built: computed, or whole numbers known on
// the host, such as shapes. A computed tensor of four axes, [batch, channels,
// height, width] in the file, is stored channels last, the layout of package nn.
type value struct {
	node *Node
	ints *tensor
}

// builder holds the tensors of one graph under construction.
type builder struct {
	model  *Model
	vars   weights.Vars
	like   *Node // the input, whose element type all tensors have
	values map[string]value
	index  int // of the node under construction
}

// Build applies the network to pictures x [batch, height, width, channels] and
// returns [batch, features]. An output that still has the picture's axes is
// averaged over them. Weights take the element type of x.
func (m *Model) Build(v weights.Vars, x *Node) *Node {
	_, channels, height, width := m.InputShape()
	dims := x.Shape().Dimensions
	for i, want := range []int{height, width, channels} {
		if want != 0 && dims[i+1] != want {
			panic(fmt.Errorf("onnx: the network wants pictures of %d x %d with %d channels (0: any), not %v", height, width, channels, dims[1:]))
		}
	}
	b := &builder{model: m, vars: v, like: x, values: map[string]value{m.input.name: {node: x}}}
	for i, n := range m.nodes {
		b.index = i
		b.values[n.outputs[0]] = operators[n.op].read(b, n)
	}
	y := b.values[m.output].node
	switch {
	case y == nil:
		panic(fmt.Errorf("onnx: the output %q holds whole numbers, not features", m.output))
	case y.Rank() == 4:
		y = ReduceMean(y, 1, 2)
	case y.Rank() != 2:
		panic(fmt.Errorf("onnx: the output %q has shape %v: features are [batch, width]", m.output, y.Shape().Dimensions))
	}
	if y.Shape().Dim(0) != dims[0] {
		panic(fmt.Errorf("onnx: %d pictures gave features for %d: export the network with a free batch axis", dims[0], y.Shape().Dim(0)))
	}
	return y
}

func (b *builder) fail(n *node, format string, args ...any) {
	panic(fmt.Errorf("onnx: %s: %s", n, fmt.Sprintf(format, args...)))
}

func (n *node) has(k int) bool { return k < len(n.inputs) && n.inputs[k] != "" }

func (b *builder) value(n *node, k int) value {
	if !n.has(k) {
		b.fail(n, "input %d is missing", k)
	}
	name := n.inputs[k]
	if t := b.model.constants[name]; t != nil {
		if t.isInts {
			return value{ints: t}
		}
		return value{node: b.variable(fmt.Sprintf("input%d", k))}
	}
	return b.values[name]
}

// tensor returns input k, which has to be computed.
func (b *builder) tensor(n *node, k int) *Node {
	v := b.value(n, k)
	if v.node == nil {
		b.fail(n, "input %d holds whole numbers, which it cannot take", k)
	}
	return v.node
}

// picture returns input k, which has to have the picture's axes.
func (b *builder) picture(n *node, k int) *Node {
	x := b.tensor(n, k)
	if x.Rank() != 4 {
		b.fail(n, "input %d has %d axes: it needs a picture's 4", k, x.Rank())
	}
	return x
}

// variable is one of the current node.
func (b *builder) variable(name string) *Node {
	return ConvertDType(b.vars.Get(variablePath(b.index, name)), b.like.DType())
}

// numbers returns whole numbers known on the host: input k, or the attribute of
// older operator sets, or nil.
func (b *builder) numbers(n *node, k int, attribute string) []int {
	if n.attributes[attribute] != nil {
		return n.ints(attribute)
	}
	if !n.has(k) {
		return nil
	}
	v := b.value(n, k)
	if v.ints == nil {
		b.fail(n, "input %d has to be known before the network runs", k)
	}
	return toInts(v.ints.ints)
}

// axis maps a file's axis, negative ones from the end, into [0, rank).
func (b *builder) axis(n *node, axis, rank int) int {
	if axis < 0 {
		axis += rank
	}
	if axis < 0 || axis >= rank {
		b.fail(n, "axis %d is outside a tensor of %d axes", axis, rank)
	}
	return axis
}

// storedAxis is where an axis of the file lies in a tensor of that rank.
func storedAxis(axis, rank int) int {
	if rank != 4 {
		return axis
	}
	return [...]int{0, 3, 1, 2}[axis]
}

func fileDims(x *Node) []int {
	dims := x.Shape().Dimensions
	if len(dims) != 4 {
		return dims
	}
	return []int{dims[0], dims[3], dims[1], dims[2]}
}

// asInFile returns x with its axes in the file's order.
func asInFile(x *Node) *Node {
	if x.Rank() != 4 {
		return x
	}
	if dims := x.Shape().Dimensions; dims[1] == 1 && dims[2] == 1 {
		return Reshape(x, dims[0], dims[3], 1, 1) // nothing to move
	}
	return TransposeAllAxes(x, 0, 3, 1, 2)
}

// asStored is the inverse of asInFile.
func asStored(x *Node) *Node {
	if x.Rank() != 4 {
		return x
	}
	if dims := x.Shape().Dimensions; dims[2] == 1 && dims[3] == 1 {
		return Reshape(x, dims[0], 1, 1, dims[1])
	}
	return TransposeAllAxes(x, 0, 2, 3, 1)
}
