// Package onnx reads convolutional networks from ONNX files and rebuilds them as
// graph code, and writes graphs of its operators as ONNX files.
//
// It covers the operators of networks that see pictures, not all of ONNX: see
// [Operators]. The files are not trusted: every length is checked. Convolutions and
// pools come from package nn, which is fast on the embedded engine too.
package onnx

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/weights"
)

// Model is a network with one picture tensor as input and one tensor as output.
type Model struct {
	nodes     []*node // the nodes that the output needs, in order
	constants map[string]*tensor
	input     input
	output    string
	opset     int64
	variables weights.Set
}

// Read loads the network at path. See [Decode].
func Read(path, output string) (*Model, error) {
	content, err := memory.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read a network: %w", err)
	}
	m, err := Decode(content, output)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be used as a network: %w", path, err)
	}
	return m, nil
}

// Decode reads a network held in memory. Its output is the tensor of that name;
// for "" it is the last one that is pooled over the picture, or else the graph's
// first output. It fails on operators outside [Operators], if the output needs them.
func Decode(content []byte, output string) (*Model, error) {
	g, err := decodeModel(content)
	if err != nil {
		return nil, fmt.Errorf("not a valid ONNX file: %w", err)
	}
	if len(g.inputs) != 1 {
		return nil, fmt.Errorf("the network has %d inputs: one is needed, pictures [batch, channels, height, width]", len(g.inputs))
	}
	m := &Model{constants: g.constants, input: g.inputs[0], output: output, opset: g.opset}
	if rank := len(m.input.shape); rank != 0 && rank != 4 {
		return nil, fmt.Errorf("input %q has %d axes: pictures have 4, [batch, channels, height, width]", m.input.name, rank)
	}
	if m.output == "" {
		if m.output, err = pooledOutput(g); err != nil {
			return nil, err
		}
	}
	if err := m.keepNeeded(g.nodes); err != nil {
		return nil, err
	}
	return m, m.declare()
}

// pooledOutput names the last tensor that is pooled over the whole picture.
func pooledOutput(g *fileGraph) (string, error) {
	for _, n := range slices.Backward(g.nodes) {
		if slices.Contains([]string{"GlobalAveragePool", "GlobalMaxPool", "ReduceMean"}, n.op) && len(n.outputs) > 0 {
			return n.outputs[0], nil
		}
	}
	if len(g.outputs) == 0 {
		return "", errors.New("the graph names no output: name the tensor to use")
	}
	return g.outputs[0], nil
}

// keepNeeded keeps the nodes that the output needs; Constant nodes join constants.
func (m *Model) keepNeeded(nodes []*node) error {
	producers := map[string]int{}
	for i, n := range nodes {
		for k, name := range n.outputs {
			if _, twice := producers[name]; twice && name != "" {
				return fmt.Errorf("two nodes write the tensor %q", name)
			}
			if k == 0 {
				producers[name] = i
			}
		}
	}
	needed := map[int]bool{}
	open := []string{m.output}
	for len(open) > 0 {
		name := open[len(open)-1]
		open = open[:len(open)-1]
		if name == "" || name == m.input.name || m.constants[name] != nil {
			continue
		}
		i, ok := producers[name]
		if !ok {
			var last []string
			for _, n := range nodes[max(0, len(nodes)-5):] {
				last = append(last, n.outputs...)
			}
			return fmt.Errorf("no node writes the tensor %q; the file's tensors end with %s", name, strings.Join(last, ", "))
		}
		if needed[i] {
			continue
		}
		n := nodes[i]
		for _, in := range n.inputs {
			if at, ok := producers[in]; ok && at >= i {
				return fmt.Errorf("%s reads %q before it is written", n, in)
			}
		}
		if n.op == "Constant" {
			t, err := n.constant()
			if err != nil {
				return err
			}
			m.constants[name] = t
			continue
		}
		needed[i] = true
		open = append(open, n.inputs...)
	}
	for _, i := range slices.Sorted(maps.Keys(needed)) {
		m.nodes = append(m.nodes, nodes[i])
	}
	if len(m.nodes) == 0 {
		return fmt.Errorf("the tensor %q does not depend on the input %q", m.output, m.input.name)
	}
	return nil
}

// constant returns the value of a Constant node.
func (n *node) constant() (*tensor, error) {
	for name, a := range n.attributes {
		switch name {
		case "value":
			if a.tensor != nil {
				return a.tensor, nil
			}
		case "value_float":
			return &tensor{float: []float32{a.float}}, nil
		case "value_floats":
			return &tensor{shape: []int{len(a.floats)}, float: a.floats}, nil
		case "value_int":
			return &tensor{ints: []int64{a.int}, isInts: true}, nil
		case "value_ints":
			return &tensor{shape: []int{len(a.ints)}, ints: a.ints, isInts: true}, nil
		}
	}
	return nil, fmt.Errorf("%s holds no number", n)
}

// Variables returns the network's weights under the paths that Build reads.
func (m *Model) Variables() weights.Set { return m.variables }

// InputShape returns the sizes the file fixes for its pictures, 0 where it
// leaves them free.
func (m *Model) InputShape() (batch, channels, height, width int) {
	if len(m.input.shape) != 4 {
		return 0, 0, 0, 0
	}
	size := func(axis int) int { return int(max(0, min(m.input.shape[axis], maxElements))) }
	return size(0), size(1), size(2), size(3)
}
