package onnx

import (
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// Every way the format has to store the same two numbers.
func TestTensorsInAllStorages(t *testing.T) {
	for name, message := range map[string][]byte{
		"floats":       tensorMessage("t", typeFloat, []int64{2}, floatField(4, 1.5), floatField(4, -2)),
		"packed":       tensorMessage("t", typeFloat, []int64{2}, bytesField(4, []byte{0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0})),
		"raw":          tensorMessage("t", typeFloat, []int64{2}, bytesField(9, []byte{0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0})),
		"halves":       tensorMessage("t", typeFloat16, []int64{2}, intField(5, 0x3e00), intField(5, 0xc000)),
		"raw halves":   tensorMessage("t", typeFloat16, []int64{2}, bytesField(9, []byte{0, 0x3e, 0, 0xc0})),
		"brain floats": tensorMessage("t", typeBFloat16, []int64{2}, bytesField(9, []byte{0xc0, 0x3f, 0, 0xc0})),
	} {
		got, err := decodeTensor(message)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.isInts || !slices.Equal(got.float, []float32{1.5, -2}) || !slices.Equal(got.shape, []int{2}) || got.name != "t" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for name, message := range map[string][]byte{
		"int64":     tensorMessage("t", typeInt64, []int64{2}, intField(7, 3), intField(7, -1)),
		"int32":     tensorMessage("t", typeInt32, []int64{2}, intField(5, 3), intField(5, -1)),
		"raw int32": tensorMessage("t", typeInt32, []int64{2}, bytesField(9, []byte{3, 0, 0, 0, 0xff, 0xff, 0xff, 0xff})),
	} {
		got, err := decodeTensor(message)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !got.isInts || !slices.Equal(got.ints, []int64{3, -1}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestTensorsRefused(t *testing.T) {
	for want, message := range map[string][]byte{
		"shape [3] but 1 elements":       tensorMessage("t", typeFloat, []int64{3}, floatField(4, 1)),
		"element type 8":                 tensorMessage("t", 8, []int64{0}),
		"negative or larger":             tensorMessage("t", typeFloat, []int64{1 << 20, 1 << 20, 0}),
		"stored in another file":         tensorMessage("t", typeFloat, []int64{1}, intField(14, 1)),
		"stored as those of another":     tensorMessage("t", typeFloat, []int64{1}, intField(7, 1)),
		"takes 8 bytes but it holds 3":   tensorMessage("t", typeFloat, []int64{2}, bytesField(9, []byte{1, 2, 3})),
		"field 1 should be whole number": floatField(1, 2),
	} {
		if _, err := decodeTensor(message); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

func TestRearranging(t *testing.T) {
	m := &tensor{shape: []int{2, 3}, ints: []int64{1, 2, 3, 4, 5, 6}, isInts: true}
	if got := m.transposed(1, 0); !slices.Equal(got.ints, []int64{1, 4, 2, 5, 3, 6}) || !slices.Equal(got.shape, []int{3, 2}) {
		t.Errorf("transposed %+v", got)
	}
	if got := m.picked(1, []int{2, 0}); !slices.Equal(got.ints, []int64{3, 1, 6, 4}) || !slices.Equal(got.shape, []int{2, 2}) {
		t.Errorf("picked %+v", got)
	}
	if got, err := m.reshaped([]int{-1, 2}); err != nil || !slices.Equal(got.shape, []int{3, 2}) {
		t.Errorf("reshaped %+v, %v", got, err)
	}
	if _, err := m.reshaped([]int{4, -1}); err == nil {
		t.Error("six elements became four columns")
	}
	for _, c := range []struct {
		start, end, step int
		want             []int
	}{{0, 100, 1, []int{0, 1, 2, 3}}, {-1, -100, -1, []int{3, 2, 1, 0}}, {1, -1, 2, []int{1}}, {3, 1, 1, nil}} {
		if got := span(c.start, c.end, c.step, 4); !slices.Equal(got, c.want) {
			t.Errorf("%d to %d by %d: %v", c.start, c.end, c.step, got)
		}
	}
}

// y = mean of k x + c over the picture.
func TestSmallModelByHand(t *testing.T) {
	m, err := Decode(smallModel(), "")
	if err != nil {
		t.Fatal(err)
	}
	x := gradtest.Value{Shape: []int{2, 1, 2, 1}, Data: []float64{1, 3, -1, 0}}
	gradtest.Close(t, "by hand", run(t, m, x), []float64{2*2 + 0.5, -3*2 + 1, 2*-0.5 + 0.5, -3*-0.5 + 1}, 1e-6)
}
