// Package networktest writes small networks of scores for tests: real architectures with weights that mean nothing.
package networktest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"

	"github.com/gritvq/gritvq/safetensors"
)

// Write puts lpips.safetensors and features.safetensors into a directory: LPIPS over SqueezeNet, and the same network
// as one of features, of 512 dimensions.
func Write(dir string) error {
	random := rand.New(rand.NewPCG(1, 2))
	var tensors []safetensors.Tensor
	add := func(name string, low, scale float64, shape ...int) {
		size := 1
		for _, n := range shape {
			size *= n
		}
		values := make([]float32, size)
		for i := range values {
			values[i] = float32(scale * (low + (1-low)*random.Float64()))
		}
		tensors = append(tensors, safetensors.FromFloat32(name, shape, values))
	}
	conv := func(name string, in, out, side int) {
		add(name+".weight", -1, 2/math.Sqrt(float64(in*side*side)), out, in, side, side)
		add(name+".bias", -1, 0.25, out)
	}
	conv("features.0", 3, 64, 3)
	in := 64
	for _, fire := range [][3]int{ // index, squeezed channels, channels
		{3, 16, 128}, {4, 16, 128}, {6, 32, 256}, {7, 32, 256}, {9, 48, 384}, {10, 48, 384}, {11, 64, 512}, {12, 64, 512},
	} {
		name, squeezed, out := fmt.Sprintf("features.%d", fire[0]), fire[1], fire[2]
		conv(name+".squeeze", in, squeezed, 1)
		conv(name+".expand1x1", squeezed, out/2, 1)
		conv(name+".expand3x3", squeezed, out/2, 3)
		in = out
	}
	for i, channels := range []int{64, 128, 256, 384, 384, 512, 512} {
		add(fmt.Sprintf("lin%d.weight", i), 0, 1, 1, channels, 1, 1)
	}
	for _, name := range []string{"lpips.safetensors", "features.safetensors"} {
		if err := safetensors.Write(filepath.Join(dir, name), tensors, nil); err != nil {
			return err
		}
	}
	return nil
}
