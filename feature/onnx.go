package feature

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/onnx"
	"github.com/gritvq/gritvq/weights"
)

// ONNXOptions say how a network of the user's own sees pictures.
type ONNXOptions struct {
	Output string // name of the tensor; "" is the last one pooled over the picture
	Size   int    // height and width to resize to; 0 is the size in the file, or the pictures' own
	// Mean and Std normalise each channel of pictures in [0, 1]. Both zero is
	// the ImageNet normalisation of torchvision; 0.5 and 0.5 give [-1, 1].
	Mean, Std [3]float64
}

// ONNX is a network read from an ONNX file.
type ONNX struct {
	name    string
	model   *onnx.Model
	options ONNXOptions
	input   Input
}

// LoadONNX reads a network whose input is [batch, 3, height, width]. See
// onnx.Operators for its operators.
func LoadONNX(path string, o ONNXOptions) (*ONNX, error) {
	m, err := onnx.Read(path, o.Output)
	if err != nil {
		return nil, err
	}
	if o.Mean == [3]float64{} && o.Std == [3]float64{} {
		o.Mean, o.Std = [3]float64{0.485, 0.456, 0.406}, [3]float64{0.229, 0.224, 0.225}
	}
	if min(o.Std[0], o.Std[1], o.Std[2]) <= 0 || o.Size < 0 {
		return nil, fmt.Errorf("pictures cannot be normalised by %v and resized to %d: give positive numbers, or none for the defaults",
			o.Std, o.Size)
	}
	batch, channels, height, width := m.InputShape()
	if channels != 0 && channels != 3 || height != width {
		return nil, fmt.Errorf("%s wants pictures of %d channels, %d x %d: networks for square pictures in colour, channels before height, "+
			"can be used", path, channels, height, width)
	}
	if o.Size != 0 && height != 0 && o.Size != height {
		return nil, fmt.Errorf("%s fixes pictures of %d x %d: leave the size %d out, or export the network with free axes",
			path, height, height, o.Size)
	}
	return &ONNX{
		name:    strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)),
		model:   m,
		options: o,
		input:   Input{Size: max(o.Size, height), Batch: batch},
	}, nil
}

// Name is the file's, without its extension.
func (o *ONNX) Name() string { return o.name }

// Input is the size that the file or the options fix.
func (o *ONNX) Input() Input { return o.input }

// Variables returns the weights.
func (o *ONNX) Variables() weights.Set { return o.model.Variables() }

// Features maps x [B, H, W, 3], values in [0, 1], to the output tensor [B, D].
func (o *ONNX) Features(v weights.Vars, x *graph.Node) *graph.Node {
	return o.model.Build(v, normalized(x, o.options.Mean, o.options.Std))
}
