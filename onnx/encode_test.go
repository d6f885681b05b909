package onnx

import (
	"encoding/binary"
	"math"
)

// A writer of the few messages the tests make by hand.

func tagged(number, wire int) []byte { return binary.AppendUvarint(nil, uint64(number<<3|wire)) }

func bytesField(number int, content []byte) []byte {
	return append(binary.AppendUvarint(tagged(number, wireBytes), uint64(len(content))), content...)
}

func textField(number int, text string) []byte { return bytesField(number, []byte(text)) }

func intField(number int, value int64) []byte {
	return binary.AppendUvarint(tagged(number, wireVarint), uint64(value))
}

func floatField(number int, value float32) []byte {
	return binary.LittleEndian.AppendUint32(tagged(number, wireFixed32), math.Float32bits(value))
}

func join(parts ...[]byte) (all []byte) {
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}

// tensorMessage is a TensorProto of this type with the given fields of elements.
func tensorMessage(name string, kind int64, dims []int64, elements ...[]byte) []byte {
	m := join(intField(2, kind), textField(8, name), join(elements...))
	for _, dim := range dims {
		m = append(m, intField(1, dim)...)
	}
	return m
}

func nodeMessage(op string, inputs, outputs []string, attributes ...[]byte) []byte {
	m := join(textField(4, op), textField(3, op))
	for _, in := range inputs {
		m = append(m, textField(1, in)...)
	}
	for _, out := range outputs {
		m = append(m, textField(2, out)...)
	}
	for _, a := range attributes {
		m = append(m, bytesField(5, a)...)
	}
	return m
}

func intsAttribute(name string, values ...int64) []byte {
	m := textField(1, name)
	for _, value := range values {
		m = append(m, intField(8, value)...)
	}
	return m
}

// modelMessage is a ModelProto with the input "x", the output "y" and parts of
// a graph: fields 1 (nodes) and 5 (initializers).
func modelMessage(opset int64, parts ...[]byte) []byte {
	graph := join(join(parts...), bytesField(11, textField(1, "x")), bytesField(12, textField(1, "y")))
	return join(intField(1, 7), bytesField(7, graph), bytesField(8, intField(2, opset)))
}

// smallModel is a 1 x 1 convolution of one channel, a bias and a pool.
func smallModel() []byte {
	return modelMessage(13,
		bytesField(5, tensorMessage("k", typeFloat, []int64{2, 1, 1, 1}, floatField(4, 2), floatField(4, -3))),
		bytesField(5, tensorMessage("c", typeDouble, []int64{2, 1, 1}, bytesField(10, binary.LittleEndian.AppendUint64(
			binary.LittleEndian.AppendUint64(nil, math.Float64bits(0.5)), math.Float64bits(1))))),
		bytesField(1, nodeMessage("Conv", []string{"x", "k"}, []string{"z"}, intsAttribute("pads", 0, 0, 0, 0))),
		bytesField(1, nodeMessage("Add", []string{"z", "c"}, []string{"s"})),
		bytesField(1, nodeMessage("GlobalAveragePool", []string{"s"}, []string{"y"})))
}
