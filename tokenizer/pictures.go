package tokenizer

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
	"gonum.org/v1/gonum/mat"
)

// Image describes the convolutional network of a tokenizer of pictures.
type Image struct {
	Size      int    `yaml:"size" doc:"Side of the square pictures in pixels (0: a tokenizer of vectors)."`
	Short     int    `yaml:"short"`
	Widths    []int  `yaml:"widths" doc:"Channels at every resolution, from the picture down."`
	Strides   []int  `yaml:"strides" doc:"Factors between the resolutions, one less than widths (empty: each halves the side)."`
	Blocks    int    `yaml:"blocks" doc:"Residual blocks at every resolution."`
	Linear    bool   `yaml:"linear"`
	Up        string `yaml:"up" enum:"transposed|nearest"`
	Precision string `yaml:"precision" enum:"f32|bf16" doc:"Arithmetic of the convolutions; codes are always compared and learned in f32."`
}

// Docs describes keys for package config.
func (Image) Docs() map[string]string {
	return map[string]string{
		"short":  "What short sides are reduced to before squares are cut from them (0: 286 for squares of 256, and in proportion).",
		"linear": "Adds a linear path: squares of pixels to their principal components and back. The network starts at zero and adds to it.",
		"up":     "The decoder's way up: transposed convolutions, or nearest neighbours and a convolution.",
	}
}

// Down is the side of the square of pixels behind a code.
func (c Image) Down() int {
	if len(c.Strides) == 0 {
		return 1 << max(0, len(c.Widths)-1)
	}
	down := 1
	for _, stride := range c.Strides {
		down *= stride
	}
	return down
}

// SetDown makes a square of down x down pixels a cell: a stage for every prime factor of down, the largest first, because
// the first stages cost most. It cuts the widths or repeats the last.
func (c *Image) SetDown(down int) {
	c.Strides = nil
	for prime := 2; down > 1; prime++ {
		for ; down%prime == 0; down /= prime {
			c.Strides = append(c.Strides, prime)
		}
	}
	slices.Reverse(c.Strides)
	stages := len(c.Strides) + 1
	c.Widths = slices.Clone(c.Widths)
	for len(c.Widths) < stages {
		c.Widths = append(c.Widths, c.Widths[len(c.Widths)-1])
	}
	c.Widths = c.Widths[:stages]
	if !slices.ContainsFunc(c.Strides, func(stride int) bool { return stride != 2 }) {
		c.Strides = nil
	}
}

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
	case len(c.Strides) > 0 && (len(c.Strides) != len(c.Widths)-1 || slices.Min(c.Strides) < 1):
		return fmt.Errorf("model.image.strides: %v must be %d positive numbers, one between every two of the widths %v, or empty",
			c.Strides, len(c.Widths)-1, c.Widths)
	case len(c.Widths) > 12 || slices.ContainsFunc(c.Strides, func(s int) bool { return s > c.Size }) || c.Size%c.Down() != 0:
		return fmt.Errorf("model.image.size: %d is not a multiple of %d, the side of a cell; use a multiple, or another --down",
			c.Size, c.Down())
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

func (p pictureModality) grid() int { return p.Image.Grid() }

func (p pictureModality) numbers(input int) float64 {
	n, side := float64(input), float64(p.Image.Size)
	for i, width := range p.Image.Widths {
		n += 2 * side * side * float64(width) * (1 + 2*float64(p.Image.Blocks))
		if side /= 2; len(p.Image.Strides) > i {
			side = 2 * side / float64(p.Image.Strides[i])
		}
	}
	return n
}

func (p pictureModality) describe(int) string {
	c := p.Image
	return fmt.Sprintf(", %d px pictures to %d x %d codes, network %s to %d", c.Size, c.Grid(), c.Grid(), joinWidths(c.Widths), p.Dim)
}

// pictureNetwork is a residual convolutional autoencoder of pictures [B,size,size,3] from 0 to 255; it sees -1 to 1.
type pictureNetwork struct {
	encoder   nn.ImageEncoder
	decoder   nn.ImageDecoder
	size      int // of pictures
	grid, dim int
}

func (p pictureModality) network(int) network {
	var precision dtypes.DType // that of the pictures
	if p.Image.Precision == "bf16" {
		precision = dtypes.BFloat16
	}
	c := p.Image
	var strides []int // of the network: nil for the usual
	if len(c.Strides) > 0 {
		strides = c.Strides
	}
	return pictureNetwork{
		encoder: nn.ImageEncoder{Channels: 3, Widths: c.Widths, Strides: strides, Blocks: c.Blocks, Dim: p.Dim, Linear: c.Linear,
			DType: precision},
		decoder: nn.ImageDecoder{Channels: 3, Widths: c.Widths, Strides: strides, Blocks: c.Blocks, Dim: p.Dim, Linear: c.Linear, Up: c.Up,
			DType: precision},
		size: c.Size, grid: c.Grid(), dim: p.Dim,
	}
}

func (n pictureNetwork) identity() bool { return false }

func (n pictureNetwork) init(seed uint64, sample Sample) weights.Set {
	set := weights.Set{}
	set.Merge("encoder", n.encoder.Init(weights.Rand(seed, "encoder")))
	set.Merge("decoder", n.decoder.Init(weights.Rand(seed, "decoder")))
	if n.encoder.Linear && sample.Items.N > 0 {
		rng := weights.Rand(seed, "linear path")
		fitPatchMap(n.patches(sample.Items, rng), n.dim, rng).fill(set)
	}
	return set
}

// values is the number of values of a cell's square.
func (n pictureNetwork) values() int { return 3 * n.encoder.Factor() * n.encoder.Factor() }

// patches draws squares of pictures [n, values].
func (n pictureNetwork) patches(pictures dataset.Batch, rng *rand.Rand) *mat.Dense {
	all := pictures.N * n.grid * n.grid
	rows := mat.NewDense(min(all, max(leastPatches, patchesPerValue*n.values())), n.values(), nil)
	for i, cell := range rng.Perm(all)[:rows.RawMatrix().Rows] {
		n.square(rows.RawRowView(i), pictures, cell)
	}
	return rows
}

// square copies the standardized values of a cell; the cells of all pictures are numbered one after the other.
func (n pictureNetwork) square(into []float64, pictures dataset.Batch, cell int) {
	side, cells := n.encoder.Factor(), n.grid*n.grid
	picture, y, x := cell/cells, cell%cells/n.grid*side, cell%n.grid*side
	for dy := range side {
		at := 3 * ((picture*n.size+y+dy)*n.size + x)
		for j, pixel := range pictures.Pixels[at : at+3*side] {
			into[3*side*dy+j] = float64(pixel)/127.5 - 1
		}
	}
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

func (n pictureNetwork) decode(v weights.Vars, z *graph.Node, _ *vq.Random) *graph.Node {
	return n.decoder.Build(v.In("decoder"), graph.Reshape(z, -1, n.grid, n.grid, n.dim))
}

// output rounds to the nearest pixel value.
func (n pictureNetwork) output(y *graph.Node) *graph.Node {
	return graph.ConvertDType(graph.AddScalar(y, 0.5), dtypes.Uint8)
}

type pictureScorer struct {
	image     Image
	phases    int
	closeness eval.ImageScores
	squares   float64
	images    int
}

func (p pictureModality) scorer(t *Tokenizer) scorer {
	return &pictureScorer{image: p.Image, phases: t.Quantizer.Layout().Phases}
}

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
		CodeUse: newCodeUse(usage), BitsPerPixel: plainBits(usage, s.phases, cell*cell), Images: s.images, Damaged: rows - s.images,
	}
}
