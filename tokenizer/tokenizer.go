// Package tokenizer joins an encoder, a quantizer and a decoder into one model
// of vectors or of pictures, and runs trained ones.
package tokenizer

import (
	"fmt"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// Tokenizer is the model: items -> z [N,d] -> codes -> ẑ -> items. An item is a
// vector [input], with one latent, or a picture [size,size,3], with a latent for
// every cell of its grid, row by row. Variables: "encoder/…", "decoder/…",
// "quantizer/…"; of vectors "state/mean", "state/scale" [input]; and
// "state/rotation" [d,d] around quantizers of rotated latents.
type Tokenizer struct {
	Spec      Spec
	Input     int // numbers of an item
	Quantizer vq.Quantizer

	network network
	rotated bool
	beam    int // kept when encoding, unless asked otherwise
}

// New composes a tokenizer for vectors of dimension input, or for pictures,
// whose input is 3 size².
func New(s Spec, input int) (*Tokenizer, error) {
	c, q := s.Model, s.Quantizer
	if err := c.Validate(); err != nil {
		return nil, err
	}
	t := &Tokenizer{Spec: s, Input: input, rotated: q.Rotated(), beam: q.Beam()}
	dim := c.Dim
	switch {
	case c.Pictures():
		if want := c.Image.Input(); input != want {
			return nil, fmt.Errorf("pictures of size %d have %d numbers, not %d", c.Image.Size, want, input)
		}
		t.network = newPictureNetwork(c)
	case input < 1:
		return nil, fmt.Errorf("vectors need at least one dimension, got %d", input)
	default:
		if dim == 0 {
			dim = input
		}
		t.network = newVectorNetwork(c, input, dim)
	}
	var err error
	t.Quantizer, err = vq.New(q, dim)
	return t, err
}

// Tokens is the number of latents of an item.
func (t *Tokenizer) Tokens() int {
	if t.Spec.Model.Pictures() {
		return t.Spec.Model.Image.Grid() * t.Spec.Model.Image.Grid()
	}
	return 1
}

// Dim is the dimension of the latents.
func (t *Tokenizer) Dim() int { return t.Quantizer.Layout().Dim }

// Identity says whether vectors are quantized as they are, without a network.
func (t *Tokenizer) Identity() bool { return t.network.identity() }

// InitNetwork returns the variables around the quantizer. mean and variance are
// the training data's, by dimension; pictures have none.
func (t *Tokenizer) InitNetwork(seed uint64, mean, variance []float64) weights.Set {
	set := t.network.init(seed, mean, variance)
	if t.rotated {
		set["state/rotation"] = weights.Eye(t.Dim())
	}
	return set
}

// Encode maps items to latents [N,d], ready for nearest-code search.
func (t *Tokenizer) Encode(v weights.Vars, x *graph.Node) *graph.Node {
	return vq.Prepare(t.Quantizer, t.latents(v, t.network.standardize(v, x)))
}

func (t *Tokenizer) latents(v weights.Vars, standard *graph.Node) *graph.Node {
	z := t.network.encode(v, standard)
	if t.rotated {
		z = graph.DotGeneral(z, []int{1}, nil, v.Get("state/rotation"), []int{0}, nil)
	}
	return z
}

// reconstruct maps quantized latents [N,d] to standardized items.
func (t *Tokenizer) reconstruct(v weights.Vars, z *graph.Node) *graph.Node {
	if t.rotated { // the transpose of a rotation turns back
		z = graph.DotGeneral(z, []int{1}, nil, v.Get("state/rotation"), []int{1}, nil)
	}
	return t.network.decode(v, z)
}

// Decode maps quantized latents [N,d] to items.
func (t *Tokenizer) Decode(v weights.Vars, z *graph.Node) *graph.Node {
	return t.network.restore(v, t.reconstruct(v, z))
}

// Pass is one forward pass of a training step, in standardized units.
type Pass struct {
	Target    *graph.Node // the items
	Output    *graph.Node // their reconstructions
	Quantized vq.Output   // empty without the quantizer
}

// Error is the mean squared reconstruction error.
func (p Pass) Error() *graph.Node {
	return graph.ReduceAllMean(graph.Square(graph.Sub(p.Output, p.Target)))
}

// Pass runs items through the network and the quantizer.
func (t *Tokenizer) Pass(ctx *vq.Context, x *graph.Node) Pass {
	p := Pass{Target: t.network.standardize(ctx.Vars, x)}
	inner := *ctx
	inner.Vars = ctx.Vars.In("quantizer")
	p.Quantized = t.Quantizer.Build(&inner, t.latents(ctx.Vars, p.Target))
	p.Output = t.reconstruct(ctx.Vars, p.Quantized.Soft)
	return p
}

// Unquantized runs items through the network alone, which warms it up before
// codes are placed.
func (t *Tokenizer) Unquantized(v weights.Vars, x *graph.Node) Pass {
	p := Pass{Target: t.network.standardize(v, x)}
	p.Output = t.reconstruct(v, t.latents(v, p.Target))
	return p
}
