package onnx

import (
	"errors"
	"fmt"
)

// fileGraph is the part of a file's GraphProto that is read.
type fileGraph struct {
	nodes     []*node
	constants map[string]*tensor
	inputs    []input // without initializers
	outputs   []string
	opset     int64
}

// input is a tensor the caller gives.
type input struct {
	name  string
	shape []int64 // -1 where the size is free
}

type node struct {
	name, op, domain string
	inputs, outputs  []string
	attributes       map[string]*attribute
}

type attribute struct {
	name   string
	float  float32
	int    int64
	text   string
	tensor *tensor
	floats []float32
	ints   []int64
}

func decodeModel(content []byte) (*fileGraph, error) {
	var g *fileGraph
	opset := int64(-1)
	err := schema{
		7: nested(func(m []byte) (err error) {
			if g != nil {
				return errors.New("two graphs")
			}
			g, err = decodeGraph(m)
			return err
		}),
		8: nested(func(m []byte) error { return decodeOpset(m, &opset) }),
	}.read(content)
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

// decodeOpset keeps the version of ONNX's own operators.
func decodeOpset(message []byte, to *int64) error {
	var domain string
	var version int64
	err := schema{1: into(field.text, &domain), 2: into(field.integer, &version)}.read(message)
	if domain == "" || domain == "ai.onnx" {
		*to = version
	}
	return err
}

// each appends every message of a field to a list.
func each[T any](list *[]T, decode func(message []byte) (T, error)) func(f field) error {
	return nested(func(m []byte) error {
		one, err := decode(m)
		*list = append(*list, one)
		return err
	})
}

func decodeGraph(message []byte) (*fileGraph, error) {
	g := &fileGraph{constants: map[string]*tensor{}}
	var inputs, outputs []input
	var constants []*tensor
	err := schema{
		1: each(&g.nodes, decodeNode), 5: each(&constants, decodeTensor),
		11: each(&inputs, decodeValueInfo), 12: each(&outputs, decodeValueInfo),
		15: func(field) error {
			return errors.New("sparse weights are not supported: export the network with dense ones")
		},
	}.read(message)
	if err != nil {
		return nil, err
	}
	for _, t := range constants {
		g.constants[t.name] = t
	}
	for _, in := range inputs {
		if _, constant := g.constants[in.name]; !constant {
			g.inputs = append(g.inputs, in)
		}
	}
	for _, out := range outputs {
		g.outputs = append(g.outputs, out.name)
	}
	return g, nil
}

func decodeValueInfo(message []byte) (input, error) {
	var in input
	dimension := func(m []byte) error {
		size := int64(-1)
		err := schema{1: into(field.integer, &size)}.read(m)
		in.shape = append(in.shape, size)
		return err
	}
	shape := schema{2: nested(schema{1: nested(dimension)}.read)}
	kind := schema{1: nested(shape.read)} // TypeProto.tensor_type.shape.dim
	err := schema{1: into(field.text, &in.name), 2: nested(kind.read)}.read(message)
	return in, err
}

func decodeNode(message []byte) (*node, error) {
	n := &node{attributes: map[string]*attribute{}}
	var attributes []*attribute
	err := schema{
		1: into(field.texts, &n.inputs), 2: into(field.texts, &n.outputs),
		3: into(field.text, &n.name), 4: into(field.text, &n.op), 7: into(field.text, &n.domain),
		5: each(&attributes, decodeAttribute),
	}.read(message)
	if err != nil {
		return n, fmt.Errorf("%s: %w", n, err)
	}
	for _, a := range attributes {
		n.attributes[a.name] = a
	}
	return n, nil
}

// String names the node as errors do.
func (n *node) String() string { return fmt.Sprintf("node %q (%s)", n.name, n.op) }

func decodeAttribute(message []byte) (*attribute, error) {
	a := &attribute{}
	var float []float32
	var tensors []*tensor
	err := schema{
		1: into(field.text, &a.name), 2: into(field.floats, &float), 3: into(field.integer, &a.int), 4: into(field.text, &a.text),
		5: each(&tensors, decodeTensor), 7: into(field.floats, &a.floats), 8: into(field.integers, &a.ints),
	}.read(message)
	if len(float) == 1 {
		a.float = float[0]
	}
	if len(tensors) > 0 {
		a.tensor = tensors[len(tensors)-1]
	}
	return a, err
}
