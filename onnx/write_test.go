package onnx

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// written is a 1 x 1 convolution of two channels, a bias, a choice of axes and a pool.
func written() []byte {
	w := NewWriter("small", "a test")
	x := w.Input("x", Float32, "batch", 2, "height", "width")
	kernel := w.Floats("kernel", []int{2, 2, 1, 1}, []float32{1, 2, 0, -3})
	y := w.Node("Conv", []string{x, kernel}, Attributes{"kernel_shape": []int{1, 1}, "strides": []int{1, 1}})
	y = w.Apply("Add", w.Apply("Mul", y, w.Float(2)), w.Floats("bias", []int{2, 1, 1}, []float32{0.5, 1}))
	y = w.Node("Transpose", []string{y}, Attributes{"perm": []int{0, 1, 3, 2}})
	y = w.Apply("GlobalAveragePool", y)
	w.Output("y", w.Node("Flatten", []string{y}, Attributes{"axis": 1}), Float32, "batch", 2)
	return w.Encode("a test")
}

// The importer reads what the writer wrote, and computes the same.
func TestReadGivesBackWhatWasWritten(t *testing.T) {
	content := written()
	if !bytes.Equal(content, written()) {
		t.Error("one graph was written in two ways")
	}
	m, err := Decode(content, "y")
	if err != nil {
		t.Fatal(err)
	}
	if batch, channels, height, width := m.InputShape(); batch != 0 || channels != 2 || height != 0 || width != 0 {
		t.Errorf("the input is %d, %d, %d, %d", batch, channels, height, width)
	}
	x := gradtest.Value{Shape: []int{1, 2, 2, 2}, Data: []float64{0, 4, 1, 5, 2, 6, 3, 7}} // means 1.5 and 5.5
	gradtest.Close(t, "written", run(t, m, x), []float64{2*(1.5+2*5.5) + 0.5, -2*3*5.5 + 1}, 1e-6)
}

// Equal constants are stored once, and names that are taken get a number.
func TestConstantsAreShared(t *testing.T) {
	w := NewWriter("g", "")
	a, b, c := w.Floats("a", []int{1}, []float32{3}), w.Floats("b", []int{1}, []float32{3}), w.Floats("a", []int{1}, []float32{4})
	if a != "a" || b != "a" || c != "a_1" {
		t.Errorf("the constants are %q, %q and %q", a, b, c)
	}
}

// Mistakes of a program panic, before a file is written that no reader takes.
func TestWriterPanics(t *testing.T) {
	for want, mistake := range map[string]func(w *Writer){
		"operator Conv3 is not in the table":   func(w *Writer) { w.Apply("Conv3", "x") },
		`Relu reads "z", which is not there`:   func(w *Writer) { w.Apply("Relu", "z") },
		"ArgMin has no attribute axis of type": func(w *Writer) { w.Node("ArgMin", []string{"x"}, Attributes{"axis": "1"}) },
		"Relu has no attribute alpha of type":  func(w *Writer) { w.Node("Relu", []string{"x"}, Attributes{"alpha": 1}) },
		`writes "x", which is there already`:   func(w *Writer) { w.Output("x", "x", Float32) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("got %s, want %q", got, want)
				}
			}()
			w := NewWriter("g", "")
			w.Input("x", Float32, "batch")
			mistake(w)
		}()
	}
}
