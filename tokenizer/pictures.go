package tokenizer

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"
)

// Image describes the convolutional network of a tokenizer of pictures.
type Image struct {
	Size      int    `yaml:"size" doc:"Side of the square pictures in pixels (0: a tokenizer of vectors)."`
	Short     int    `yaml:"short"`
	Widths    []int  `yaml:"widths" doc:"Channels at every resolution, from the picture down; each but the first halves the side."`
	Blocks    int    `yaml:"blocks" doc:"Residual blocks at every resolution."`
	Up        string `yaml:"up" enum:"transposed|nearest"`
	Precision string `yaml:"precision" enum:"f32|bf16" doc:"Arithmetic of the convolutions; codes are always compared and learned in f32."`
}

// Docs describes keys for package config.
func (Image) Docs() map[string]string {
	return map[string]string{
		"short": "What short sides are reduced to before squares are cut from them (0: 286 for squares of 256, and in proportion).",
		"up":    "The decoder's way up: transposed convolutions, or nearest neighbours and a convolution.",
	}
}

// Down is the side of the square of pixels behind a code.
func (c Image) Down() int { return 1 << max(0, len(c.Widths)-1) }

// Grid is the side of the grid of codes of a picture.
func (c Image) Grid() int { return c.Size / c.Down() }

// Input is the number of values of a picture.
func (c Image) Input() int { return 3 * c.Size * c.Size }

// pictureModality is of items [size,size,3] with a latent for every cell of their grid, row by row.
type pictureModality struct{ Config }

func (pictureModality) Kind() dataset.Kind { return dataset.Pictures }
func (pictureModality) Item() string       { return "picture" }
func (pictureModality) Tokens() string     { return "patches" }
func (pictureModality) pixels() bool       { return true }
func (p pictureModality) batch() int       { return p.block() }

// blockPixels bounds the pixels that the engine sees at a time.
const blockPixels = 1 << 20

func (p pictureModality) block() int { return min(64, max(1, blockPixels/(p.Image.Size*p.Image.Size))) }

func (p pictureModality) validate() error {
	c := p.Image
	switch {
	case p.Dim == 0:
		return fmt.Errorf("model.dim: a tokenizer of pictures needs a latent dimension, such as 64")
	case len(c.Widths) == 0 || slices.Min(c.Widths) < 1:
		return fmt.Errorf("model.image.widths: %v must be positive numbers, such as [64, 128, 256]", c.Widths)
	case len(c.Widths) > 12 || c.Size%c.Down() != 0:
		return fmt.Errorf("model.image.size: %d is not a multiple of %d, by which %d widths divide it; use a multiple, or other widths",
			c.Size, c.Down(), len(c.Widths))
	case c.Size < eval.SSIMWindow:
		return fmt.Errorf("model.image.size: %d is less than %d, the side of the smallest pictures that SSIM scores", c.Size, eval.SSIMWindow)
	case c.Size > 1<<12:
		return fmt.Errorf("model.image.size: %d is more than 4096; larger pictures are coded in windows of a smaller size", c.Size)
	case c.Short != 0 && c.Short < c.Size:
		return fmt.Errorf("model.image.short: %d is less than the %d pixels of a square; use %d or more, or 0 for the usual",
			c.Short, c.Size, c.Size)
	case c.Blocks < 0:
		return fmt.Errorf("model.image.blocks: %d must not be negative", c.Blocks)
	case c.Up != "transposed" && c.Up != "nearest":
		return fmt.Errorf("model.image.up: unknown value %q, use transposed or nearest", c.Up)
	case c.Precision != "f32" && c.Precision != "bf16":
		return fmt.Errorf("model.image.precision: unknown value %q, use f32 or bf16", c.Precision)
	}
	return nil
}

func (p pictureModality) shape(input int) ([]int, error) {
	if want := p.Image.Input(); input != want {
		return nil, fmt.Errorf("pictures of size %d have %d numbers, not %d", p.Image.Size, want, input)
	}
	return []int{p.Image.Size, p.Image.Size, 3}, nil
}

func (p pictureModality) latents(int) (tokens, dim int) {
	return p.Image.Grid() * p.Image.Grid(), p.Dim
}

func (p pictureModality) describe(int) string {
	c := p.Image
	return fmt.Sprintf(", %d px pictures to %d x %d codes, network %s to %d", c.Size, c.Grid(), c.Grid(), joinWidths(c.Widths), p.Dim)
}

// pictureNetwork is a residual convolutional autoencoder of pictures [B,size,size,3] from 0 to 255; it sees -1 to 1.
type pictureNetwork struct {
	encoder   nn.ImageEncoder
	decoder   nn.ImageDecoder
	grid, dim int
}

func (p pictureModality) network(int) network {
	var precision dtypes.DType // that of the pictures
	if p.Image.Precision == "bf16" {
		precision = dtypes.BFloat16
	}
	return pictureNetwork{
		encoder: nn.ImageEncoder{Channels: 3, Widths: p.Image.Widths, Blocks: p.Image.Blocks, Dim: p.Dim, DType: precision},
		decoder: nn.ImageDecoder{Channels: 3, Widths: p.Image.Widths, Blocks: p.Image.Blocks, Dim: p.Dim, Up: p.Image.Up, DType: precision},
		grid:    p.Image.Grid(), dim: p.Dim,
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

// output rounds to the nearest pixel value.
func (n pictureNetwork) output(y *graph.Node) *graph.Node {
	return graph.ConvertDType(graph.AddScalar(y, 0.5), dtypes.Uint8)
}

type pictureScorer struct {
	image     Image
	closeness eval.ImageScores
	squares   float64
	images    int
}

func (p pictureModality) scorer(*Tokenizer) scorer { return &pictureScorer{image: p.Image} }

func (s *pictureScorer) add(b Coded) error {
	shape := eval.ImageShape{Height: s.image.Size, Width: s.image.Size, Channels: 3}
	if err := s.closeness.Add(b.Items.Pixels, b.Decoded.Pixels, shape); err != nil {
		return err
	}
	for i, x := range b.Items.Pixels {
		d := float64(x) - float64(b.Decoded.Pixels[i])
		s.squares += d * d
	}
	s.images += b.Items.N
	return nil
}

func (s *pictureScorer) result(usage *eval.Usage, rows int) Result {
	cell := float64(s.image.Down())
	return &PictureScores{
		PSNR: s.closeness.PSNR(), SSIM: s.closeness.SSIM(), MSE: s.squares / (255 * 255 * float64(s.images) * float64(s.image.Input())),
		CodeUse: newCodeUse(usage), BitsPerPixel: plainBits(usage, cell*cell), Images: s.images, Damaged: rows - s.images,
	}
}
