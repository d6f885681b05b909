package tokenizer

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"
)

// Image describes the convolutional network of a tokenizer of pictures.
type Image struct {
	Size      int    `yaml:"size" doc:"Side of the square pictures in pixels (0: a tokenizer of vectors)."`
	Short     int    `yaml:"short" doc:"What short sides are reduced to before squares are cut from them (0: 286 for squares of 256, and in proportion)."`
	Widths    []int  `yaml:"widths" doc:"Channels at every resolution, from the picture down; each but the first halves the side."`
	Blocks    int    `yaml:"blocks" doc:"Residual blocks at every resolution."`
	Up        string `yaml:"up" enum:"transposed|nearest" doc:"The decoder's way up: transposed convolutions, or nearest neighbours and a convolution."`
	Precision string `yaml:"precision" enum:"f32|bf16" doc:"Arithmetic of the convolutions; codes are always compared and learned in f32."`
}

// Pictures says whether the configuration is for pictures.
func (c Config) Pictures() bool { return c.Image.Size > 0 }

// Down is the side of the square of pixels behind a code.
func (c Image) Down() int { return 1 << max(0, len(c.Widths)-1) }

// Grid is the side of the grid of codes of a picture.
func (c Image) Grid() int { return c.Size / c.Down() }

// Input is the number of values of a picture.
func (c Image) Input() int { return 3 * c.Size * c.Size }

func (c Image) validate() error {
	switch {
	case len(c.Widths) == 0 || slices.Min(c.Widths) < 1:
		return fmt.Errorf("model.image.widths: %v must be positive numbers, such as [64, 128, 256]", c.Widths)
	case len(c.Widths) > 12 || c.Size%c.Down() != 0:
		return fmt.Errorf("model.image.size: %d is not a multiple of %d, by which %d widths divide it; use a multiple, or other widths", c.Size, c.Down(), len(c.Widths))
	case c.Size > 1<<12:
		return fmt.Errorf("model.image.size: %d is more than 4096; larger pictures are coded in windows of a smaller size", c.Size)
	case c.Short != 0 && c.Short < c.Size:
		return fmt.Errorf("model.image.short: %d is less than the %d pixels of a square; use %d or more, or 0 for the usual", c.Short, c.Size, c.Size)
	case c.Blocks < 0:
		return fmt.Errorf("model.image.blocks: %d must not be negative", c.Blocks)
	case c.Up != "transposed" && c.Up != "nearest":
		return fmt.Errorf("model.image.up: unknown value %q, use transposed or nearest", c.Up)
	case c.Precision != "f32" && c.Precision != "bf16":
		return fmt.Errorf("model.image.precision: unknown value %q, use f32 or bf16", c.Precision)
	}
	return nil
}

// pictureNetwork is the residual convolutional autoencoder around pictures
// [B,size,size,3] of 0 to 255; the network and the loss see -1 to 1.
type pictureNetwork struct {
	encoder   nn.ImageEncoder
	decoder   nn.ImageDecoder
	grid, dim int
}

func newPictureNetwork(c Config) pictureNetwork {
	var precision dtypes.DType // that of the pictures
	if c.Image.Precision == "bf16" {
		precision = dtypes.BFloat16
	}
	return pictureNetwork{
		encoder: nn.ImageEncoder{Channels: 3, Widths: c.Image.Widths, Blocks: c.Image.Blocks, Dim: c.Dim, DType: precision},
		decoder: nn.ImageDecoder{Channels: 3, Widths: c.Image.Widths, Blocks: c.Image.Blocks, Dim: c.Dim, Up: c.Image.Up, DType: precision},
		grid:    c.Image.Grid(), dim: c.Dim,
	}
}

func (n pictureNetwork) identity() bool { return false }

func (n pictureNetwork) init(seed uint64, _, _ []float64) weights.Set {
	set := weights.Set{}
	set.Merge("encoder", n.encoder.Init(weights.Rand(seed, "encoder")))
	return set.Merge("decoder", n.decoder.Init(weights.Rand(seed, "decoder")))
}

func (n pictureNetwork) standardize(_ weights.Vars, x *graph.Node) *graph.Node {
	return graph.AddScalar(graph.MulScalar(graph.ConvertDType(x, dtypes.Float32), 1/127.5), -1)
}

func (n pictureNetwork) restore(_ weights.Vars, y *graph.Node) *graph.Node {
	return graph.ClipScalar(graph.MulScalar(graph.AddScalar(y, 1), 127.5), 0, 255)
}

func (n pictureNetwork) encode(v weights.Vars, standard *graph.Node) *graph.Node {
	return graph.Reshape(n.encoder.Build(v.In("encoder"), standard), -1, n.dim)
}

func (n pictureNetwork) decode(v weights.Vars, z *graph.Node) *graph.Node {
	return n.decoder.Build(v.In("decoder"), graph.Reshape(z, -1, n.grid, n.grid, n.dim))
}
