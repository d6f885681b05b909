package onnx

import (
	"math"
	"path"

	file "github.com/gritvq/gritvq/onnx"
	"github.com/gritvq/gritvq/weights"
)

// expressions writes operators on the variables of a model.
type expressions struct {
	w   *file.Writer
	set weights.Set
}

// variable adds a variable as a constant.
func (n expressions) variable(elements ...string) string {
	name := path.Join(elements...)
	a := n.set[name]
	return n.w.Floats(name, a.Shape, a.Data)
}

// scalar applies an operator to x and a number.
func (n expressions) scalar(op, x string, value float64) string {
	return n.w.Apply(op, x, n.w.Float(value))
}

// product is x times a variable's matrix.
func (n expressions) product(x string, elements ...string) string {
	return n.w.Apply("MatMul", x, n.variable(elements...))
}

// beside lays tensors side by side along an axis.
func (n expressions) beside(axis int, parts ...string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	return n.w.Node("Concat", parts, file.Attributes{"axis": axis})
}

// columns are those from start to end-1 of x [N, ..].
func (n expressions) columns(x string, start, end int) string {
	return n.w.Apply("Slice", x, n.w.Ints(start), n.w.Ints(end), n.w.Ints(1))
}

// size is the length [1] of an axis.
func (n expressions) size(x string, axis int) string {
	return n.w.Node("Shape", []string{x}, file.Attributes{"start": axis, "end": axis + 1})
}

// count lists the numbers 0, 1, … below the length [1] of an axis.
func (n expressions) count(length string) string {
	return n.w.Apply("Range", n.w.Int(0), n.w.Apply("Squeeze", length, n.w.Ints(0)), n.w.Int(1))
}

func (n expressions) transposed(x string, axes ...int) string {
	return n.w.Node("Transpose", []string{x}, file.Attributes{"perm": axes})
}

// float turns truth values and numbers into float32.
func (n expressions) float(x string) string {
	return n.w.Node("Cast", []string{x}, file.Attributes{"to": int(file.Float32)})
}

func (n expressions) activation(kind, x string) string {
	switch kind {
	case "gelu":
		return n.gelu(x)
	case "silu":
		return n.silu(x)
	}
	return n.w.Apply("Relu", x)
}

func (n expressions) silu(x string) string { return n.w.Apply("Mul", x, n.w.Apply("Sigmoid", x)) }

func (n expressions) gelu(x string) string {
	share := n.scalar("Mul", n.scalar("Add", n.w.Apply("Erf", n.scalar("Div", x, math.Sqrt2)), 1), 0.5)
	return n.w.Apply("Mul", x, share)
}
