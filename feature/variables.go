package feature

import (
	"fmt"
	"slices"

	"github.com/gritvq/gritvq/safetensors"
	"github.com/gritvq/gritvq/weights"
)

// readArray returns a tensor of the file. Its shape has to be the one given,
// where -1 matches any size.
func readArray(file *safetensors.File, name string, shape ...int) (*weights.Array, error) {
	t, err := file.Get(name)
	if err != nil {
		return nil, err
	}
	matches := len(t.Shape) == len(shape)
	for i := 0; matches && i < len(shape); i++ {
		matches = shape[i] == -1 || shape[i] == t.Shape[i]
	}
	if !matches {
		return nil, fmt.Errorf("tensor %q has shape %v where the network needs %v (-1: any)", name, t.Shape, shape)
	}
	data, err := t.Float32()
	if err != nil {
		return nil, err
	}
	return &weights.Array{Shape: slices.Clone(t.Shape), Data: data}, nil
}

// kernelFromTorch turns a kernel [out, in, height, width] into the layout of
// package nn, [height, width, in, out].
func kernelFromTorch(a *weights.Array) *weights.Array {
	out, in, height, width := a.Shape[0], a.Shape[1], a.Shape[2], a.Shape[3]
	turned := weights.New(height, width, in, out)
	for o := range out {
		for i := range in {
			for at := range height * width {
				turned.Data[(at*in+i)*out+o] = a.Data[(o*in+i)*height*width+at]
			}
		}
	}
	return turned
}

// readTorchConv adds "<path>/kernel" and "<path>/bias" from name.weight and
// name.bias.
func readTorchConv(set weights.Set, file *safetensors.File, name, path string, in, out, size int) error {
	kernel, err := readArray(file, name+".weight", out, in, size, size)
	if err != nil {
		return err
	}
	bias, err := readArray(file, name+".bias", out)
	if err != nil {
		return err
	}
	set[path+"/kernel"], set[path+"/bias"] = kernelFromTorch(kernel), bias
	return nil
}
