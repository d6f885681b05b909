package onnx

import (
	"slices"
	"testing"
)

// Whatever the bytes, reading ends with a network or an error, and a network
// has all the variables its nodes name.
func FuzzDecode(f *testing.F) {
	// Small seeds only: the fuzzer would spend its time on making large ones small.
	f.Add(smallModel())
	f.Add(modelMessage(9, bytesField(1, nodeMessage("ReduceMean", []string{"x"}, []string{"y"}, intsAttribute("axes", 2, 3)))))
	f.Add([]byte{})
	f.Add([]byte{0x3a, 0x02, 0x0a, 0x00, 0x42, 0x02, 0x10, 0x0d})
	f.Fuzz(func(t *testing.T, content []byte) {
		m, err := Decode(slices.Clone(content), "")
		if err != nil {
			return
		}
		for path, a := range m.Variables() {
			if product(a.Shape) != len(a.Data) {
				t.Errorf("variable %s of shape %v has %d elements", path, a.Shape, len(a.Data))
			}
		}
		if len(m.nodes) == 0 || m.output == "" {
			t.Error("a network without nodes or output was accepted")
		}
	})
}
