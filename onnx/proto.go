package onnx

import (
	"errors"
	"fmt"
)

// fileGraph is the part of a file's GraphProto that is read.
type fileGraph struct {
	nodes     []*node
	constants map[string]*tensor
	inputs    []input // without those that are initializers
	outputs   []string
	opset     int64
}

// input is a tensor the caller gives.
type input struct {
	name  string
	shape []int64 // -1 where the size is free
}

// node is one operation.
type node struct {
	name, op, domain string
	inputs, outputs  []string
	attributes       map[string]*attribute
}

// attribute is a named setting of a node.
type attribute struct {
	name   string
	float  float32
	int    int64
	text   string
	tensor *tensor
	floats []float32
	ints   []int64
}

// decodeModel reads a ModelProto.
func decodeModel(content []byte) (*fileGraph, error) {
	var g *fileGraph
	opset := int64(-1)
	err := fields(content, func(f field) error {
		switch f.number {
		case 7:
			return f.message(func(m []byte) (err error) {
				if g != nil {
					return errors.New("two graphs")
				}
				g, err = decodeGraph(m)
				return err
			})
		case 8:
			return f.message(func(m []byte) error { return decodeOpset(m, &opset) })
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if g == nil || len(g.nodes) == 0 {
		return nil, errors.New("no graph with nodes in it")
	}
	if opset < 0 {
		return nil, errors.New("no version of ONNX's own operators is named")
	}
	g.opset = opset
	return g, nil
}

// decodeOpset reads the version of ONNX's own operators.
func decodeOpset(message []byte, into *int64) error {
	var domain string
	var version int64
	err := fields(message, func(f field) error {
		switch f.number {
		case 1:
			return f.text(&domain)
		case 2:
			return f.integer(&version)
		}
		return nil
	})
	if domain == "" || domain == "ai.onnx" {
		*into = version
	}
	return err
}

func decodeGraph(message []byte) (*fileGraph, error) {
	g := &fileGraph{constants: map[string]*tensor{}}
	var inputs []input
	err := fields(message, func(f field) error {
		switch f.number {
		case 1:
			return f.message(func(m []byte) error {
				n, err := decodeNode(m)
				g.nodes = append(g.nodes, n)
				return err
			})
		case 5:
			return f.message(func(m []byte) error {
				t, err := decodeTensor(m)
				if err == nil {
					g.constants[t.name] = t
				}
				return err
			})
		case 11:
			return f.message(func(m []byte) error {
				in, err := decodeValueInfo(m)
				inputs = append(inputs, in)
				return err
			})
		case 12:
			return f.message(func(m []byte) error {
				out, err := decodeValueInfo(m)
				g.outputs = append(g.outputs, out.name)
				return err
			})
		case 15:
			return errors.New("sparse weights are not supported: export the network with dense ones")
		}
		return nil
	})
	for _, in := range inputs {
		if _, constant := g.constants[in.name]; !constant {
			g.inputs = append(g.inputs, in)
		}
	}
	return g, err
}

// decodeValueInfo reads the name and shape of an input or output.
func decodeValueInfo(message []byte) (input, error) {
	var in input
	dimension := func(m []byte) error {
		size := int64(-1)
		err := fields(m, func(f field) error {
			if f.number == 1 {
				return f.integer(&size)
			}
			return nil
		})
		in.shape = append(in.shape, size)
		return err
	}
	// within descends into the nested message of one field.
	within := func(number int, visit func(m []byte) error) func(m []byte) error {
		return func(m []byte) error {
			return fields(m, func(f field) error {
				if f.number == number {
					return f.message(visit)
				}
				return nil
			})
		}
	}
	err := fields(message, func(f field) error {
		switch f.number {
		case 1:
			return f.text(&in.name)
		case 2: // TypeProto.tensor_type.shape.dim
			return f.message(within(1, within(2, within(1, dimension))))
		}
		return nil
	})
	return in, err
}

func decodeNode(message []byte) (*node, error) {
	n := &node{attributes: map[string]*attribute{}}
	err := fields(message, func(f field) error {
		switch f.number {
		case 1:
			return f.texts(&n.inputs)
		case 2:
			return f.texts(&n.outputs)
		case 3:
			return f.text(&n.name)
		case 4:
			return f.text(&n.op)
		case 5:
			return f.message(func(m []byte) error {
				a, err := decodeAttribute(m)
				n.attributes[a.name] = a
				return err
			})
		case 7:
			return f.text(&n.domain)
		}
		return nil
	})
	if err != nil {
		return n, fmt.Errorf("%s: %w", n, err)
	}
	return n, nil
}

// String names the node as errors do.
func (n *node) String() string { return fmt.Sprintf("node %q (%s)", n.name, n.op) }

func decodeAttribute(message []byte) (*attribute, error) {
	a := &attribute{}
	err := fields(message, func(f field) error {
		switch f.number {
		case 1:
			return f.text(&a.name)
		case 2:
			var one []float32
			err := f.floats(&one)
			if len(one) == 1 {
				a.float = one[0]
			}
			return err
		case 3:
			return f.integer(&a.int)
		case 4:
			return f.text(&a.text)
		case 5:
			return f.message(func(m []byte) (err error) {
				a.tensor, err = decodeTensor(m)
				return err
			})
		case 7:
			return f.floats(&a.floats)
		case 8:
			return f.integers(&a.ints)
		}
		return nil
	})
	return a, err
}
