package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Versions that written files state.
const (
	irVersion = 8
	opset     = 17
)

// Element is a type of the elements of a tensor.
type Element int64

// The elements of inputs and outputs.
const (
	Float32 Element = typeFloat
	Uint8   Element = typeUint8
	Int64   Element = typeInt64
)

// Attributes of a node: int, float32, string or []int by name.
type Attributes map[string]any

// Writer is a network under construction. Names of tensors come from its methods.
type Writer struct {
	name, text      string
	nodes, tensors  []byte // encoded fields of GraphProto
	inputs, outputs []byte
	known           map[string]bool   // tensors that may be read
	constants       map[string]string // their names by content
	count           int               // of nodes
}

// NewWriter starts a graph; text describes it to people.
func NewWriter(name, text string) *Writer {
	return &Writer{name: name, text: text, known: map[string]bool{"": true}, constants: map[string]string{}}
}

// Input declares an input. A dimension is a number, or a text that names a free size.
func (w *Writer) Input(name string, element Element, dims ...any) string {
	w.inputs = message(w.inputs, 11, valueInfo(name, element, dims))
	w.known[name] = true
	return name
}

// Output declares a tensor as an output of the given name.
func (w *Writer) Output(name, tensor string, element Element, dims ...any) {
	w.write("Identity", []string{tensor}, []string{name}, nil)
	w.outputs = message(w.outputs, 12, valueInfo(name, element, dims))
}

// Floats adds a constant of float32. The name is for people.
func (w *Writer) Floats(name string, shape []int, values []float32) string {
	raw := make([]byte, 0, 4*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return w.constant(name, typeFloat, shape, raw)
}

// Float adds a constant number.
func (w *Writer) Float(value float64) string {
	return w.Floats(fmt.Sprint(float32(value)), nil, []float32{float32(value)})
}

// Ints adds a constant list of int64.
func (w *Writer) Ints(values ...int) string {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	return w.constant(fmt.Sprint(values), typeInt64, []int{len(values)}, raw)
}

// Int adds a constant whole number.
func (w *Writer) Int(value int) string {
	return w.constant(fmt.Sprint("number ", value), typeInt64, nil, binary.LittleEndian.AppendUint64(nil, uint64(value)))
}

// constant adds a tensor, unless there is one of the same name, type, shape and content.
func (w *Writer) constant(name string, kind int64, shape []int, raw []byte) string {
	key := fmt.Sprint(kind, shape, string(raw))
	if known, ok := w.constants[key]; ok {
		return known
	}
	for base, i := name, 1; w.known[name]; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	w.constants[key], w.known[name] = name, true
	var t []byte
	for _, d := range shape {
		t = number(t, 1, int64(d))
	}
	t = text(number(t, 2, kind), 8, name)
	w.tensors = message(w.tensors, 5, message(t, 9, raw))
	return name
}

// Node adds an operator on tensors and returns its output. It panics on operators and attributes that package onnx does
// not know, and on tensors that are not there.
func (w *Writer) Node(op string, inputs []string, attributes Attributes) string {
	return w.Nodes(op, 1, inputs, attributes)[0]
}

// Nodes is Node for operators with several outputs.
func (w *Writer) Nodes(op string, count int, inputs []string, attributes Attributes) []string {
	w.count++
	var outputs []string
	for i := range count {
		outputs = append(outputs, fmt.Sprintf("%s_%d", op, w.count))
		if i > 0 {
			outputs[i] += fmt.Sprintf("_%d", i)
		}
	}
	w.write(op, inputs, outputs, attributes)
	return outputs
}

// Apply is Node for operators without attributes.
func (w *Writer) Apply(op string, inputs ...string) string { return w.Node(op, inputs, nil) }

func (w *Writer) write(op string, inputs, outputs []string, attributes Attributes) {
	known, ok := operators[op]
	if !ok {
		panic(fmt.Errorf("onnx: operator %s is not in the table", op))
	}
	var n []byte
	for _, in := range inputs {
		if !w.known[in] {
			panic(fmt.Errorf("onnx: %s reads %q, which is not there", op, in))
		}
		n = text(n, 1, in)
	}
	for _, out := range outputs {
		if w.known[out] {
			panic(fmt.Errorf("onnx: %s writes %q, which is there already", op, out))
		}
		w.known[out] = true
		n = text(n, 2, out)
	}
	n = text(text(n, 3, outputs[0]), 4, op)
	for _, name := range sortedKeys(attributes) {
		n = message(n, 5, attributeMessage(op, name, known.attributes[name], attributes[name]))
	}
	w.nodes = message(w.nodes, 1, n)
}

func sortedKeys(attributes Attributes) []string {
	var names []string
	for name := range attributes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func attributeMessage(op, name string, kind attributeKind, value any) []byte {
	a := text(nil, 1, name)
	own := attributeKind(0)
	switch v := value.(type) {
	case float32:
		a = protowire.AppendFixed32(protowire.AppendTag(a, 2, protowire.Fixed32Type), math.Float32bits(v))
		own = kindFloat
	case int:
		a, own = number(a, 3, int64(v)), kindInt
	case string:
		a, own = text(a, 4, v), kindText
	case []int:
		for _, x := range v {
			a = number(a, 8, int64(x))
		}
		own = kindInts
	}
	if own == 0 || own != kind {
		panic(fmt.Errorf("onnx: %s has no attribute %s of type %T", op, name, value))
	}
	return number(a, 20, int64(kind))
}

// Encode returns the file's bytes, which depend on the graph alone.
func (w *Writer) Encode(producer string) []byte {
	graph := text(slices.Clone(w.nodes), 2, w.name)
	graph = text(append(graph, w.tensors...), 10, w.text)
	graph = append(append(graph, w.inputs...), w.outputs...)
	file := text(number(nil, 1, irVersion), 2, producer)
	file = message(text(file, 6, w.text), 7, graph)
	return message(file, 8, number(text(nil, 1, ""), 2, opset))
}

// valueInfo is a ValueInfoProto.
func valueInfo(name string, element Element, dims []any) []byte {
	var shape []byte
	for _, dim := range dims {
		switch d := dim.(type) {
		case int:
			shape = message(shape, 1, number(nil, 1, int64(d)))
		case string:
			shape = message(shape, 1, text(nil, 2, d))
		}
	}
	tensor := message(number(nil, 1, int64(element)), 2, shape)
	return message(text(nil, 1, name), 2, message(nil, 1, tensor))
}

func message(to []byte, field protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), content)
}

func text(to []byte, field protowire.Number, content string) []byte {
	return message(to, field, []byte(content))
}

func number(to []byte, field protowire.Number, value int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), uint64(value))
}
