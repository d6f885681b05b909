// Package feature holds frozen networks that see pictures: pooled features for
// the Frechet and kernel distances, and LPIPS, as a score and as a training
// loss.
//
// Weights are not part of this module; they come from files, and the names of a
// file's tensors decide which network it holds. A score names its network: LPIPS
// over SqueezeNet and a Frechet distance over MobileNetV2 are not the numbers
// that papers report over VGG and Inception.
//
// The variables are constants of the graph: no gradient reaches them. A model
// that stores them beside its own has to put them below a path with "state" in
// it, so that no optimizer sees them.
package feature

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/safetensors"
	"github.com/gritvq/gritvq/weights"
)

// Network turns pictures into one vector each.
type Network interface {
	// Name says which network it is, for the label of a score.
	Name() string
	// Input says which pictures it takes.
	Input() Input
	// Variables returns its weights under the paths that Features reads.
	Variables() weights.Set
	// Features maps x [B, H, W, 3], values in [0, 1], to [B, D].
	Features(v weights.Vars, x *graph.Node) *graph.Node
}

// Input is the size and normalisation of a network's pictures; 0 leaves it free.
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
	file, err := safetensors.Read(path)
	if err != nil {
		return nil, err
	}
	if holdsMobileNet(file) {
		network, err := newMobileNet(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return network, nil
	}
	network, err := newLPIPS(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return network, nil
}

// LoadLPIPS reads an LPIPS network from safetensors: the backbone by the names
// of torchvision (features.0.weight and so on) and the heads lin0.weight on.
func LoadLPIPS(path string) (*LPIPS, error) {
	file, err := safetensors.Read(path)
	if err != nil {
		return nil, err
	}
	network, err := newLPIPS(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return network, nil
}
