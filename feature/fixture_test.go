package feature

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/safetensors"
	"github.com/gritvq/gritvq/weights"
)

// The formulas of testdata/fixtures.py.

func hashed(i uint32) uint32 {
	i = (i>>16 ^ i) * 0x45d9f3b
	i = (i>>16 ^ i) * 0x45d9f3b
	return i>>16 ^ i
}

// named returns a tensor whose name decides its values, between low and 1, times
// scale.
func named(name string, low, scale float64, shape ...int) safetensors.Tensor {
	seed, size := uint32(2166136261), 1
	for _, b := range []byte(name) {
		seed = (seed ^ uint32(b)) * 16777619
	}
	for _, dim := range shape {
		size *= dim
	}
	values := make([]float32, size)
	for i := range values {
		unit := float64(hashed(seed+uint32(i))%4096) / 4096
		values[i] = float32(low+(1-low)*unit) * float32(scale)
	}
	return safetensors.FromFloat32(name, shape, values)
}

// torchConv is a convolution's two tensors in PyTorch's layout.
func torchConv(name string, in, out, size int) []safetensors.Tensor {
	return []safetensors.Tensor{
		named(name+".weight", -1, 2/math.Sqrt(float64(in*size*size)), out, in, size, size),
		named(name+".bias", -1, 0.25, out),
	}
}

// backboneTensors are all tensors of an LPIPS file.
func backboneTensors(b backbone) (tensors []safetensors.Tensor) {
	heads := 0
	for _, s := range b.stages {
		name := fmt.Sprintf("features.%d", s.index)
		switch s.kind {
		case convStage:
			tensors = append(tensors, torchConv(name, s.in, s.out, s.size)...)
		case fireStage:
			tensors = append(tensors, torchConv(name+".squeeze", s.in, s.squeezed, 1)...)
			tensors = append(tensors, torchConv(name+".expand1x1", s.squeezed, s.out/2, 1)...)
			tensors = append(tensors, torchConv(name+".expand3x3", s.squeezed, s.out/2, 3)...)
		}
		if s.compared {
			tensors = append(tensors, named(fmt.Sprintf("lin%d.weight", heads), 0, 1, 1, s.out, 1, 1))
			heads++
		}
	}
	return tensors
}

// mobileTensors are the tensors of a MobileNetV2 of a sixteenth of the usual width.
func mobileTensors() (tensors []safetensors.Tensor) {
	add := func(name string, size, in, out int) {
		tensors = append(tensors,
			named(name+".weight", -1, 2/math.Sqrt(float64(in*size*size)), size, size, in, out),
			named(name+".bias", -1, 0.25, out))
	}
	add("stem", 3, 3, 4)
	in := 4
	for i, out := range []int{2, 3, 3, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 7, 7, 7, 8} {
		name, wide := fmt.Sprintf("block.%02d", i), in
		if i > 0 {
			wide = 3 * in
			add(name+".expand", 1, in, wide)
		}
		add(name+".depthwise", 3, 1, wide)
		add(name+".project", 1, wide, out)
		in = out
	}
	add("head", 1, in, 16)
	return tensors
}

func fileOf(tb testing.TB, tensors []safetensors.Tensor) *safetensors.File {
	tb.Helper()
	var content bytes.Buffer
	if err := safetensors.Encode(&content, tensors, nil); err != nil {
		tb.Fatal(err)
	}
	file, err := safetensors.Decode(content.Bytes())
	if err != nil {
		tb.Fatal(err)
	}
	return file
}

// pixels returns pictures [count, height, width, 3].
func pixels(seed uint32, count, height, width int) []uint8 {
	out := make([]uint8, 0, count*height*width*3)
	for b := range count {
		for y := range height {
			for x := range width {
				for c := range 3 {
					at := uint32(((b*height+y)*width+x)*3 + c)
					out = append(out, uint8(hashed(seed+at)%128+uint32((3*x+5*y)%128)))
				}
			}
		}
	}
	return out
}

// asInput gives pictures as values in [0, 1].
func asInput(samples []uint8, shape ...int) gradtest.Value {
	v := gradtest.Value{Shape: shape}
	for _, sample := range samples {
		v.Data = append(v.Data, float64(sample)/255)
	}
	return v
}

// withVariables adds a network's variables to the inputs of a graph function.
func withVariables(in gradtest.Inputs, set weights.Set) gradtest.Inputs {
	for p, a := range set {
		v := gradtest.Value{Shape: a.Shape, Data: make([]float64, len(a.Data))}
		for i, value := range a.Data {
			v.Data[i] = float64(value)
		}
		in[p] = v
	}
	return in
}

func expected(t *testing.T, name string) []float64 {
	t.Helper()
	content, err := os.ReadFile("testdata/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string][]float64
	if err := json.Unmarshal(content, &all); err != nil {
		t.Fatal(err)
	}
	if len(all[name]) == 0 {
		t.Fatalf("nothing is recorded for %s", name)
	}
	return all[name]
}
