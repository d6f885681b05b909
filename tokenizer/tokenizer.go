// Package tokenizer joins encoder, quantizer and decoder into one model of vectors or pictures, and runs trained ones.
package tokenizer

import (
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// Tokenizer is the model: items -> z [N,d] -> codes -> ẑ -> items. An item is a vector [input], with one latent, or a
// picture [size,size,3], with a latent for every cell of its grid, row by row. Variables: "encoder/…", "decoder/…",
// "quantizer/…"; of vectors "state/mean", "state/scale" [input]; "state/rotation" [d,d] of rotated latents.
type Tokenizer struct {
	Spec      Spec
	Input     int // numbers of an item
	Quantizer vq.Quantizer

	modality Modality
	shape    []int // of an item as the network takes it
	network  network
}

// New composes a tokenizer for items of input numbers: the dimension of vectors, or 3 size² of pictures.
func New(s Spec, input int) (*Tokenizer, error) {
	if err := s.Model.Validate(); err != nil {
		return nil, err
	}
	m := s.Model.Modality()
	shape, err := m.shape(input)
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{Spec: s, Input: input, modality: m, shape: shape, network: m.network(input)}
	_, dim := m.latents(input)
	quantizer := s.Quantizer
	quantizer.Side = m.grid()
	if t.Quantizer, err = vq.New(quantizer, dim); err != nil {
		return t, err
	}
	l := t.Quantizer.Layout()
	err = memory.Check(fmt.Sprintf("%d codebooks of %d codes for latents of %d numbers", l.Slots(), slices.Max(l.Vocab), dim),
		l.Slots(), slices.Max(l.Vocab), max(1, dim/max(1, l.Parts)), 4)
	if err != nil {
		return t, err
	}
	return t, checkBeam(l, s.Quantizer.Beam)
}

// Modality is the kind of its items.
func (t *Tokenizer) Modality() Modality { return t.modality }

// Expect refuses items of another kind.
func (t *Tokenizer) Expect(kind dataset.Kind) error {
	if own := t.modality.Kind(); own != kind {
		return fmt.Errorf("this is a tokenizer of %s, not of %s", own, kind)
	}
	return nil
}

// Tokens is the number of latents of an item.
func (t *Tokenizer) Tokens() int {
	tokens, _ := t.modality.latents(t.Input)
	return tokens
}

// CheckStep fails if a training step on n items needs more memory than there is: the numbers of the network and their
// gradients. The step needs more, which the engine's plan counts once it is built.
func (t *Tokenizer) CheckStep(n int) error {
	const copies = 2
	numbers := int(min(t.modality.numbers(t.Input), 1<<62))
	return memory.Check(fmt.Sprintf("a step on a batch of %d %ss", n, t.modality.Item()), n, numbers, copies, 4)
}

// Cells is the arrangement of the latents of n items.
func (t *Tokenizer) Cells(n int) Cells {
	side := max(1, t.modality.grid())
	return Cells{N: n, Height: side, Width: side}
}

// Cells are latents of N items, Height x Width of each, row by row. Vectors have 1 x 1.
type Cells struct{ N, Height, Width int }

// Len is the number of latents.
func (c Cells) Len() int { return c.N * c.Height * c.Width }

// Tensor returns items as the network takes them.
func (t *Tokenizer) Tensor(x dataset.Batch) *tensors.Tensor {
	shape := append([]int{x.N}, t.shape...)
	if x.Pixels != nil {
		return tensors.FromFlatDataAndDimensions(x.Pixels, shape...)
	}
	return tensors.FromFlatDataAndDimensions(x.Values, shape...)
}

// Dim is the dimension of the latents.
func (t *Tokenizer) Dim() int { return t.Quantizer.Layout().Dim }

// Identity says whether vectors are quantized as they are, without a network.
func (t *Tokenizer) Identity() bool { return t.network.identity() }

// Refines says whether the decoder adds to the vectors that all levels' codes stand for. Vectors of fewer levels stay as
// they are.
func (t *Tokenizer) Refines() bool { return t.Spec.Model.Refine.Width > 0 }

// Sample is the part of the training data that the first variables depend on.
type Sample struct {
	Mean, Variance []float64     // of vectors, by dimension
	Items          dataset.Batch // pictures, see [Tokenizer.SampleItems]
}

// samplePictures show enough squares for their principal components.
const samplePictures = 256

// Linear says whether latents start as a linear map of the items, which fits the data before training.
func (t *Tokenizer) Linear() bool { return t.Spec.Model.Pictures() && t.Spec.Model.Image.Linear }

// SampleItems is the number of training items that the first variables depend on, 0 if they depend on none.
func (t *Tokenizer) SampleItems() int {
	if t.Linear() {
		return samplePictures
	}
	return 0
}

// SynthesisItems is the number of training items that [Tokenizer.FitSynthesis] needs, 0 without a linear path.
func (t *Tokenizer) SynthesisItems() int {
	n, ok := t.network.(pictureNetwork)
	if !ok || !t.Linear() {
		return 0
	}
	return max(leastSynthesis, cellsPerFeature*newSynthesis(n).features()/t.Tokens())
}

// FitSynthesis fits the decoder's linear path, which is in set, to items and their quantized latents [N*Tokens*Dim].
// It is for networks that are still zero.
func (t *Tokenizer) FitSynthesis(set weights.Set, items dataset.Batch, quantized []float32, seed uint64) error {
	return newSynthesis(t.network.(pictureNetwork)).fit(set, items, quantized, weights.Rand(seed, "synthesis"))
}

// InitNetwork returns the variables around the quantizer. Without items, a linear path is left at zero.
func (t *Tokenizer) InitNetwork(seed uint64, sample Sample) weights.Set {
	set := t.network.init(seed, sample)
	if t.Spec.Quantizer.Rotated() {
		set["state/rotation"] = weights.Eye(t.Dim())
	}
	return set
}

// LastLayer is the path of the weights of the last layer of a decoder of pictures.
func (t *Tokenizer) LastLayer() string { return "decoder/output/weights" }

// Encode maps items to latents [N,d], ready for nearest-code search.
func (t *Tokenizer) Encode(v weights.Vars, x *graph.Node) *graph.Node {
	return vq.Prepare(t.Quantizer, t.latents(v, t.network.standardize(v, x)))
}

func (t *Tokenizer) latents(v weights.Vars, standard *graph.Node) *graph.Node {
	z := t.network.encode(v, standard)
	if t.Spec.Quantizer.Rotated() {
		z = graph.DotGeneral(z, []int{1}, nil, v.Get("state/rotation"), []int{0}, nil)
	}
	return z
}

// reconstruct maps quantized latents [N,d] to standardized items. random is nil but in training.
func (t *Tokenizer) reconstruct(v weights.Vars, z *graph.Node, random *vq.Random) *graph.Node {
	if t.Spec.Quantizer.Rotated() { // the transpose of a rotation turns back
		z = graph.DotGeneral(z, []int{1}, nil, v.Get("state/rotation"), []int{1}, nil)
	}
	return t.network.decode(v, z, random)
}

// Decode maps quantized latents [N,d] to items.
func (t *Tokenizer) Decode(v weights.Vars, z *graph.Node) *graph.Node {
	return t.network.restore(v, t.reconstruct(v, z, nil))
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
	inner.Vars = ctx.Vars.In(vq.Prefix)
	p.Quantized = t.Quantizer.Build(&inner, t.latents(ctx.Vars, p.Target))
	input := p.Quantized.Soft
	if ctx.Kept {
		input = graph.StopGradient(p.Quantized.Hard)
	}
	p.Output = t.reconstruct(ctx.Vars, input, ctx.Random)
	return p
}

// Unquantized runs items through the network alone, which warms it up before codes are placed.
func (t *Tokenizer) Unquantized(v weights.Vars, x *graph.Node) Pass {
	p := Pass{Target: t.network.standardize(v, x)}
	p.Output = t.reconstruct(v, t.latents(v, p.Target), nil)
	return p
}
