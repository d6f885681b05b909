package onnx

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

func intAttribute(name string, value int64) []byte {
	return join(textField(1, name), intField(3, value))
}

func floatAttribute(name string, value float32) []byte {
	return join(textField(1, name), floatField(2, value))
}

func textAttribute(name, value string) []byte { return join(textField(1, name), textField(4, value)) }

func floatsInit(name string, dims []int64, values ...float32) []byte {
	var raw []byte
	for _, value := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(value))
	}
	return bytesField(5, tensorMessage(name, typeFloat, dims, bytesField(9, raw)))
}

func intsInit(name string, values ...int64) []byte {
	var elements []byte
	for _, value := range values {
		elements = append(elements, intField(7, value)...)
	}
	return bytesField(5, tensorMessage(name, typeInt64, []int64{int64(len(values))}, elements))
}

// op is a node with one output.
func op(kind, output string, inputs string, attributes ...[]byte) []byte {
	return bytesField(1, nodeMessage(kind, strings.Fields(inputs), []string{output}, attributes...))
}

// The picture is 2 x 2 with two channels, 0 to 3 and 4 to 7 in reading order.
func TestOperatorsByHand(t *testing.T) {
	x := gradtest.Value{Shape: []int{1, 2, 2, 2}, Data: []float64{0, 4, 1, 5, 2, 6, 3, 7}}
	ones := floatsInit("k", []int64{1, 2, 2, 2}, 1, 1, 1, 1, 1, 1, 1, 1)
	for name, c := range map[string]struct {
		parts [][]byte
		want  []float64
	}{
		"Flatten": {[][]byte{op("Flatten", "y", "x")}, []float64{0, 1, 2, 3, 4, 5, 6, 7}},
		"Transpose": {[][]byte{op("Transpose", "z", "x", intsAttribute("perm", 0, 2, 3, 1)), op("Flatten", "y", "z")},
			[]float64{0, 4, 1, 5, 2, 6, 3, 7}},
		"Slice": {[][]byte{
			intsInit("from", 1), intsInit("to", 2), intsInit("axis", -3),
			op("Slice", "z", "x from to axis"), op("Flatten", "y", "z"),
		}, []float64{4, 5, 6, 7}},
		"ReduceMean":    {[][]byte{op("ReduceMean", "y", "x", intsAttribute("axes", 2, 3), intAttribute("keepdims", 0))}, []float64{1.5, 5.5}},
		"GlobalMaxPool": {[][]byte{op("GlobalMaxPool", "y", "x")}, []float64{3, 7}},
		"Clip below": {[][]byte{floatsInit("low", nil, 5), op("Clip", "z", "x low"), op("Flatten", "y", "z")},
			[]float64{5, 5, 5, 5, 5, 5, 6, 7}},
		"Clip by attributes": {[][]byte{
			op("Clip", "z", "x", floatAttribute("min", 1), floatAttribute("max", 6)), op("Flatten", "y", "z"),
		}, []float64{1, 1, 2, 3, 4, 5, 6, 6}},
		"Squeeze": {[][]byte{intsInit("axes", 2, 3), op("GlobalMaxPool", "z", "x"), op("Squeeze", "s", "z axes"), op("LeakyRelu", "y", "s")},
			[]float64{3, 7}},
		"Gemm": {[][]byte{
			intsInit("shape", 0, -1), floatsInit("w", []int64{8, 2}, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1),
			floatsInit("c", []int64{2}, 10, 20),
			op("Reshape", "z", "x shape"), op("Gemm", "y", "z w c", floatAttribute("alpha", 2), floatAttribute("beta", 3)),
		}, []float64{2*6 + 30, 2*22 + 60}},
		"SAME_UPPER": {[][]byte{ones, op("Conv", "z", "x k", textAttribute("auto_pad", "SAME_UPPER")), op("Flatten", "y", "z")},
			[]float64{28, 16, 18, 10}},
		"SAME_LOWER": {[][]byte{ones, op("Conv", "z", "x k", textAttribute("auto_pad", "SAME_LOWER")), op("Flatten", "y", "z")},
			[]float64{4, 10, 12, 28}},
		"Pad": {[][]byte{
			intsInit("pads", 0, 0, 1, 0, 0, 0, 0, 1), floatsInit("nine", nil, 9), intsInit("from", 0), intsInit("to", 1), intsInit("axis", 1),
			op("Pad", "p", "x pads nine"), op("Slice", "z", "p from to axis"), op("Flatten", "y", "z"),
		}, []float64{9, 9, 9, 0, 1, 9, 2, 3, 9}},
		"BatchNormalization of rows": {[][]byte{
			floatsInit("g", []int64{8}, 2, 2, 2, 2, 2, 2, 2, 2), floatsInit("b", []int64{8}, 1, 1, 1, 1, 1, 1, 1, 5),
			floatsInit("m", []int64{8}, 0, 1, 2, 3, 4, 5, 6, 7), floatsInit("v", []int64{8}, 3, 3, 3, 3, 3, 3, 3, 3),
			op("Flatten", "z", "x"), op("BatchNormalization", "y", "z g b m v", floatAttribute("epsilon", 1)),
		}, []float64{1, 1, 1, 1, 1, 1, 1, 5}},
		"AveragePool of the picture": {[][]byte{
			op("AveragePool", "z", "x", intsAttribute("kernel_shape", 2, 2), intsAttribute("pads", 1, 1, 0, 0)), op("Flatten", "y", "z"),
		}, []float64{0, 0.5, 1, 1.5, 4, 4.5, 5, 5.5}},
		"AveragePool of the padded picture": {[][]byte{
			op("AveragePool", "z", "x", intsAttribute("kernel_shape", 2, 2), intsAttribute("pads", 1, 1, 0, 0),
				intAttribute("count_include_pad", 1)), op("Flatten", "y", "z"),
		}, []float64{0, 0.25, 0.5, 1.5, 1, 2.25, 2.5, 5.5}},
		"Softmax": {[][]byte{op("GlobalMaxPool", "z", "x"), op("Flatten", "s", "z"), op("Softmax", "y", "s")},
			[]float64{1 / (1 + math.Exp(4)), 1 / (1 + math.Exp(-4))}},
		"Concat": {[][]byte{op("Concat", "z", "x x", intAttribute("axis", 1)), op("GlobalMaxPool", "y", "z")}, []float64{3, 7, 3, 7}},
		"Sub then Div": {[][]byte{floatsInit("c", []int64{2, 1, 1}, 1, 3), op("Sub", "s", "x c"), op("Div", "z", "s c"),
			op("GlobalMaxPool", "y", "z")}, []float64{2, 4.0 / 3}},
	} {
		m, err := Decode(modelMessage(13, c.parts...), "y")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		gradtest.Close(t, name, run(t, m, x), c.want, 1e-6)
	}
}

// Networks that cannot be built say which node and why.
func TestBuildNamesTheNode(t *testing.T) {
	kernel := floatsInit("k", []int64{1, 2, 2, 2}, 1, 1, 1, 1, 1, 1, 1, 1)
	for want, parts := range map[string][][]byte{
		"export the network with a free batch axis": {intsInit("shape", 1, -1), op("Reshape", "y", "x shape")},
		`node "Conv" (Conv): strides and dilations`: {kernel, op("Conv", "y", "x k", intsAttribute("strides", 1, 2))},
		`"Conv" (Conv): pads have to be four`:       {kernel, op("Conv", "y", "x k", intsAttribute("pads", 1, 1))},
		`"MaxPool" (MaxPool): it needs the height`:  {op("MaxPool", "y", "x")},
		`"MaxPool" (MaxPool): a window of [3 3]`:    {op("MaxPool", "y", "x", intsAttribute("kernel_shape", 3, 3))},
		`"Transpose" (Transpose): [0 1] is not an`:  {op("Transpose", "y", "x", intsAttribute("perm", 0, 1))},
		`the output "y" holds whole numbers`:        {op("Shape", "y", "x")},
		`"Softmax" (Softmax): axis 7 is outside`:    {op("Softmax", "y", "x", intAttribute("axis", 7))},
		`"Gather" (Gather): its indices have to be`: {op("Gather", "y", "x x")},
		`features are [batch, width]`:               {intsInit("axis", 3), op("GlobalMaxPool", "z", "x"), op("Squeeze", "y", "z axis")},
		`"Unsqueeze" (Unsqueeze): axis 1 is added`:  {intsInit("axes", 1, 1), op("Flatten", "z", "x"), op("Unsqueeze", "y", "z axes")},
		`"AveragePool" (AveragePool): dilated pools`: {op("AveragePool", "y", "x", intsAttribute("kernel_shape", 1, 1),
			intsAttribute("dilations", 2, 2))},
	} {
		m, err := Decode(modelMessage(13, parts...), "y")
		if err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		_, err = graph.CallOnce(gradtest.Engine(t), func(x *graph.Node) *graph.Node {
			v := weights.NewVars(func(path string) *graph.Node {
				a := m.Variables()[path]
				return graph.Reshape(graph.Const(x.Graph(), a.Data), a.Shape...)
			})
			return m.Build(v, x)
		}, [][][][]float32{{{{0, 4}, {1, 5}}, {{2, 6}, {3, 7}}}, {{{0, 4}, {1, 5}}, {{2, 6}, {3, 7}}}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
