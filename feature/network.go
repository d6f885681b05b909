// Package feature holds frozen networks that see pictures: pooled features for
// the Frechet and kernel distances, and LPIPS, as a score and as a training loss.
//
// Weights come from files; the names of the tensors decide which network it is. A
// score names its network: LPIPS over SqueezeNet and a Frechet distance over
// MobileNetV2 are not the numbers that papers report over VGG and Inception.
//
// No gradient reaches the variables. A model that stores them beside its own has
// to put them below a path with "state" in it, so that no optimizer sees them.
package feature

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/safetensors"
	"github.com/gritvq/gritvq/weights"
)

// Network turns pictures into one vector each.
type Network interface {
	Name() string           // for the label of a score
	Input() Input           // the pictures it takes
	Variables() weights.Set // its weights under the paths that Features reads
	// Features maps x [B, H, W, 3], values in [0, 1], to [B, D].
	Features(v weights.Vars, x *graph.Node) *graph.Node
}

// Input is the picture size and batch that a network requires; 0 is any.
type Input struct {
	Size  int // height and width
	Batch int // pictures at a time
}

// Load reads the network of a file: ONNX with the default options of [LoadONNX],
// or safetensors with the tensors of MobileNetV2 or of an [LPIPS] network.
func Load(path string) (Network, error) {
	if strings.EqualFold(filepath.Ext(path), ".onnx") {
		return LoadONNX(path, ONNXOptions{})
	}
	return load(path, func(file *safetensors.File) (Network, error) {
		if holdsMobileNet(file) {
			return newMobileNet(file)
		}
		return newLPIPS(file)
	})
}

// LoadLPIPS reads an LPIPS network from safetensors: the backbone by the names
// of torchvision (features.0.weight and so on) and the heads lin0.weight on.
func LoadLPIPS(path string) (*LPIPS, error) { return load(path, newLPIPS) }

func load[N any](path string, read func(file *safetensors.File) (N, error)) (N, error) {
	var none N
	file, err := safetensors.Read(path)
	if err != nil {
		return none, err
	}
	network, err := read(file)
	if err != nil {
		return none, fmt.Errorf("%s: %w", path, err)
	}
	return network, nil
}

// readArray returns a tensor of the file with that shape; -1 matches any size.
func readArray(file *safetensors.File, name string, shape ...int) (*weights.Array, error) {
	t, err := file.Get(name)
	if err != nil {
		return nil, err
	}
	if !slices.EqualFunc(t.Shape, shape, func(size, want int) bool { return want == -1 || size == want }) {
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

// readConv adds "<path>/kernel" and "<path>/bias" from name.weight, of that shape,
// and name.bias, of the kernel's output axis.
func readConv(set weights.Set, file *safetensors.File, name, path string, output int, shape ...int) (*weights.Array, error) {
	kernel, err := readArray(file, name+".weight", shape...)
	if err != nil {
		return nil, err
	}
	bias, err := readArray(file, name+".bias", kernel.Shape[output])
	if err != nil {
		return nil, err
	}
	set[path+"/kernel"], set[path+"/bias"] = kernel, bias
	return kernel, nil
}

// readTorchConv is readConv for a kernel in PyTorch's layout.
func readTorchConv(set weights.Set, file *safetensors.File, name, path string, in, out, size int) error {
	kernel, err := readConv(set, file, name, path, 0, out, in, size, size)
	if err != nil {
		return err
	}
	set[path+"/kernel"] = kernelFromTorch(kernel)
	return nil
}
