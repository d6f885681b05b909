package picture

import (
	"context"
	"fmt"
	"slices"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
)

// Bounds of the reference's fit.
const (
	referenceDims       = 256       // principal components of a patch that are clustered
	referencePerCode    = 32        // patches a code
	referenceLeast      = 16384     // patches
	referenceBytes      = 128 << 20 // of patches
	referenceIterations = 10
	largeReference      = 4096 // codes beyond which iterations are few
	largeIterations     = 3
)

// Reference is the classical way to code pictures: k-means of the patches behind the codes, and of what earlier levels
// left over, with as many codes as a tokenizer has.
type Reference struct {
	Name   string // such as "k-means of 4 x 4 patches"
	Scores *tokenizer.PictureScores
}

// MeasureReference fits the reference of a tokenizer to training pictures and scores it on held-out ones.
func MeasureReference(
	ctx context.Context, backend compute.Backend, t *tokenizer.Tokenizer, train, held dataset.Set, trainRows, heldRows dataset.Selection,
	seed uint64,
) (*Reference, error) {
	patches, name, err := referenceTokenizer(t)
	if err != nil {
		return nil, err
	}
	order := dataset.NewPermutation(trainRows.Len(), seed)
	draw := func(n int) []int {
		rows := make([]int, min(n, trainRows.Len()))
		for i := range rows {
			rows[i] = trainRows.At(order.At(i))
		}
		return rows
	}
	items, _, err := train.Read(draw(patches.SampleItems()))
	if err != nil {
		return nil, err
	}
	set := patches.InitNetwork(seed, tokenizer.Sample{Items: items})
	r, err := tokenizer.NewRuntime(backend, patches, set, nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	codes, dim := patches.Spec.Quantizer.Codes, patches.Dim()
	count := min(max(referenceLeast, referencePerCode*codes), max(codes, referenceBytes/(4*dim)))
	sample := vq.Latents{Dim: dim}
	for rows := range slices.Chunk(draw((count+patches.Tokens()-1)/patches.Tokens()), 64) {
		items, _, err := train.Read(rows)
		if err != nil {
			return nil, err
		}
		latents, err := r.Latents(ctx, items)
		if err != nil {
			return nil, err
		}
		sample.Rows = append(sample.Rows, latents...)
	}
	sample.N = len(sample.Rows) / dim
	iterations := referenceIterations
	if codes > largeReference {
		iterations = largeIterations
	}
	fitted, err := vq.FitClassical(ctx, patches.Spec.Quantizer, sample, vq.FitOptions{Seed: seed, Iterations: iterations})
	if err != nil {
		return nil, err
	}
	set.Merge(vq.Prefix, fitted.Variables)
	books, err := tokenizer.Usable(backend, patches, set)
	if err == nil {
		err = r.Update(set, books)
	}
	if err != nil {
		return nil, err
	}
	result, _, err := r.Evaluate(ctx, held, heldRows, tokenizer.Options{}, nil)
	if err != nil {
		return nil, err
	}
	return &Reference{name, result.(*tokenizer.PictureScores)}, nil
}

// referenceTokenizer is a linear path around k-means, with a network that stays zero and costs next to nothing.
func referenceTokenizer(t *tokenizer.Tokenizer) (*tokenizer.Tokenizer, string, error) {
	layout, model := t.Quantizer.Layout(), t.Spec.Model
	down := model.Image.Down()
	q, err := vq.Defaults(vq.KMeans.Name)
	if err != nil {
		return nil, "", err
	}
	q.Codes, q.Levels, q.Parts = layout.Vocab[0], layout.Positions(), 1
	model.Dim = min(3*down*down, referenceDims)
	model.Image.Widths, model.Image.Strides, model.Image.Blocks, model.Image.Linear = []int{1, 1}, []int{down}, 0, true
	model.Image.Precision = "f32"
	name := fmt.Sprintf("k-means of %d x %d patches", down, down)
	if q.Levels > 1 {
		name = "residual " + name
	}
	patches, err := tokenizer.New(tokenizer.Spec{Model: model, Quantizer: q}, t.Input)
	return patches, name, err
}
