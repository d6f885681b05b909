package picture

import (
	"context"
	"fmt"
	"slices"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/parallel"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
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
	r, _, err := FitReference(ctx, backend, t, train, trainRows, seed)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	result, _, err := r.Evaluate(ctx, held, heldRows, tokenizer.Options{}, nil)
	if err != nil {
		return nil, err
	}
	return &Reference{referenceName(r.Tokenizer()), result.(*tokenizer.PictureScores)}, nil
}

// FitReference fits the reference of a tokenizer to training pictures. The caller closes the runtime.
func FitReference(
	ctx context.Context, backend compute.Backend, t *tokenizer.Tokenizer, train dataset.Set, trainRows dataset.Selection, seed uint64,
) (r *tokenizer.Runtime, set weights.Set, err error) {
	patches, err := referenceTokenizer(t)
	if err != nil {
		return nil, nil, err
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
		return nil, nil, err
	}
	set, err = parallel.Until(ctx, func() (weights.Set, error) {
		return patches.InitNetwork(seed, tokenizer.Sample{Items: items}), nil
	})
	if err != nil {
		return nil, nil, err
	}
	if r, err = tokenizer.NewRuntime(backend, patches, set, nil); err != nil {
		return nil, nil, err
	}
	if err := placeReference(ctx, backend, r, set, train, draw, seed); err != nil {
		r.Close()
		return nil, nil, err
	}
	return r, set, nil
}

// placeReference clusters patches of drawn pictures.
func placeReference(
	ctx context.Context, backend compute.Backend, r *tokenizer.Runtime, set weights.Set, train dataset.Set,
	draw func(n int) []int, seed uint64,
) error {
	patches := r.Tokenizer()
	codes, dim := patches.Spec.Quantizer.Codes, patches.Dim()
	count := min(max(referenceLeast, referencePerCode*codes), max(codes, referenceBytes/(4*dim)))
	sample := vq.Latents{Dim: dim}
	for rows := range slices.Chunk(draw((count+patches.Tokens()-1)/patches.Tokens()), 64) {
		items, _, err := train.Read(rows)
		if err != nil {
			return err
		}
		latents, err := r.Latents(ctx, items)
		if err != nil {
			return err
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
		return err
	}
	set.Merge(vq.Prefix, fitted.Variables)
	books, err := tokenizer.Usable(backend, patches, set)
	if err != nil {
		return err
	}
	return r.Update(set, books)
}

// referenceTokenizer is a linear path around k-means, with a network that stays zero and costs next to nothing.
func referenceTokenizer(t *tokenizer.Tokenizer) (*tokenizer.Tokenizer, error) {
	layout, model := t.Quantizer.Layout(), t.Spec.Model
	down := model.Image.Down()
	q, err := vq.Defaults(vq.KMeans.Name)
	if err != nil {
		return nil, err
	}
	q.Codes, q.Levels, q.Parts = layout.Vocab[0], layout.Positions(), 1
	model.Dim = min(3*down*down, referenceDims)
	model.Image.Widths, model.Image.Strides, model.Image.Blocks, model.Image.Linear = []int{1, 1}, []int{down}, 0, true
	model.Image.Precision = "f32"
	return tokenizer.New(tokenizer.Spec{Model: model, Quantizer: q}, t.Input)
}

func referenceName(patches *tokenizer.Tokenizer) string {
	down := patches.Spec.Model.Image.Down()
	name := fmt.Sprintf("k-means of %d x %d patches", down, down)
	if patches.Spec.Quantizer.Levels > 1 {
		name = "residual " + name
	}
	return name
}
