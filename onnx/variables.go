package onnx

import (
	"fmt"
	"math"
	"slices"

	"github.com/gritvq/gritvq/weights"
)

// Constants become variables when the file is read, in the layout the graph
// multiplies them in: kernels [height, width, in, out], matrices [in, out], and
// pictures channels last, as every tensor of four axes is while it is computed.

func variablePath(index int, name string) string { return fmt.Sprintf("node%d/%s", index, name) }

// declare collects the variables and checks that every node can be built.
func (m *Model) declare() error {
	m.variables = weights.Set{}
	for i, n := range m.nodes {
		if operators[n.op].read == nil || n.domain != "" && n.domain != "ai.onnx" {
			return fmt.Errorf("%s: this operator is not supported; name an output before it, or export the network with %v", n, Operators())
		}
		if len(n.inputs) == 0 || len(n.outputs) == 0 {
			return fmt.Errorf("%s has no input or no output", n)
		}
		var err error
		switch n.op {
		case "Conv":
			err = m.declareConvolution(i, n)
		case "BatchNormalization":
			err = m.declareNormalization(i, n)
		default:
			err = m.declareInputs(i, n)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", n, err)
		}
	}
	return nil
}

// constantAt returns input k of a node, a constant of that many axes.
func (m *Model) constantAt(n *node, k, rank int) (*tensor, error) {
	if k >= len(n.inputs) {
		return nil, fmt.Errorf("input %d is missing", k)
	}
	t := m.constants[n.inputs[k]]
	if t == nil || t.isInts || len(t.shape) != rank {
		return nil, fmt.Errorf("input %q has to be a constant of %d axes", n.inputs[k], rank)
	}
	return t, nil
}

func (m *Model) add(index int, name string, t *tensor) {
	m.variables[variablePath(index, name)] = &weights.Array{Shape: slices.Clone(t.shape), Data: t.float}
}

func (m *Model) declareConvolution(i int, n *node) error {
	kernel, err := m.constantAt(n, 1, 4)
	if err != nil {
		return err
	}
	if slices.Contains(kernel.shape, 0) {
		return fmt.Errorf("the kernel %v is empty", kernel.shape)
	}
	m.add(i, "kernel", kernel.transposed(2, 3, 1, 0))
	if !n.has(2) {
		return nil
	}
	bias, err := m.constantAt(n, 2, 1)
	if err != nil {
		return err
	}
	m.add(i, "bias", bias)
	return nil
}

// declareNormalization folds the running statistics: y = scale x + offset.
func (m *Model) declareNormalization(i int, n *node) error {
	var parts [4]*tensor // gamma, beta, mean, variance
	for k := range parts {
		var err error
		if parts[k], err = m.constantAt(n, k+1, 1); err != nil {
			return err
		}
		if len(parts[k].float) != len(parts[0].float) {
			return fmt.Errorf("its statistics have %d and %d channels", len(parts[0].float), len(parts[k].float))
		}
	}
	epsilon := float64(n.float("epsilon", 1e-5))
	scale, offset := weights.New(len(parts[0].float)), weights.New(len(parts[0].float))
	for c := range scale.Data {
		s := float64(parts[0].float[c]) / math.Sqrt(float64(parts[3].float[c])+epsilon)
		scale.Data[c] = float32(s)
		offset.Data[c] = float32(float64(parts[1].float[c]) - s*float64(parts[2].float[c]))
	}
	m.variables[variablePath(i, "scale")], m.variables[variablePath(i, "offset")] = scale, offset
	return nil
}

// declareInputs declares the constants that enter an operation as tensors.
func (m *Model) declareInputs(i int, n *node) error {
	for k, name := range n.inputs {
		t := m.constants[name]
		setting := k > 0 && (n.op == "Clip" || n.op == "Pad" || n.op == "Dropout") // read on the host
		switch {
		case t == nil || t.isInts || setting:
			continue
		case n.op == "Gemm" && k == 1 && n.int("transB", 0) != 0:
			if len(t.shape) != 2 {
				return fmt.Errorf("input %q has to be a matrix", name)
			}
			t = t.transposed(1, 0)
		case len(t.shape) == 4:
			t = t.transposed(0, 2, 3, 1)
		}
		m.add(i, fmt.Sprintf("input%d", k), t)
	}
	return nil
}

// Attributes with their defaults.

func (n *node) float(name string, otherwise float32) float32 {
	if a := n.attributes[name]; a != nil {
		return a.float
	}
	return otherwise
}

func (n *node) int(name string, otherwise int) int {
	if a := n.attributes[name]; a != nil {
		return int(a.int)
	}
	return otherwise
}

func (n *node) text(name, otherwise string) string {
	if a := n.attributes[name]; a != nil {
		return a.text
	}
	return otherwise
}

func (n *node) ints(name string) []int {
	a := n.attributes[name]
	if a == nil {
		return nil
	}
	return toInts(a.ints)
}

func toInts(values []int64) []int {
	out := make([]int, len(values))
	for i, value := range values {
		out[i] = int(value)
	}
	return out
}
