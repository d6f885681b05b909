package vqtrain

import (
	"context"
	"math"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/feature"
	"github.com/gritvq/gritvq/tokenizer"
)

// Source is what a run learns from and is scored on: vectors, or pictures.
type Source struct {
	Vectors *vectors.Vectors
	Images  *images.Set // in place of Vectors
	Train   dataset.Selection
	Held    dataset.Selection // rows of the held-out set; may be empty
	// HeldVectors is Vectors unless a held-out file was given.
	HeldVectors *vectors.Vectors
	// HeldImages is Images unless a held-out set was given.
	HeldImages     *images.Set
	Mean, Variance []float64 // of the vectors, by dimension
	// Perceptual is the network behind the loss of that name; nil without.
	Perceptual *feature.LPIPS
}

// Input is the number of values of an example.
func (s Source) Input() int {
	if s.Images != nil {
		return 3 * s.Images.Size() * s.Images.Size()
	}
	return s.Vectors.Dim()
}

// Len is the number of examples, training and held-out ones of the same file.
func (s Source) Len() int {
	if s.Images != nil {
		return s.Images.Len()
	}
	return s.Vectors.Len()
}

// Close closes the files.
func (s Source) Close() {
	if s.Images != nil {
		s.Images.Close()
		if s.HeldImages != s.Images {
			s.HeldImages.Close()
		}
		return
	}
	s.Vectors.Close()
	if s.HeldVectors != s.Vectors {
		s.HeldVectors.Close()
	}
}

// tokenName is what a latent comes from, in the plural.
func (s Source) tokenName() string {
	if s.Images != nil {
		return "patches"
	}
	return "rows"
}

// batch reads the examples of a training step as the network takes them.
func (s Source) batch(rows []int, seed uint64, step int64) (*tensors.Tensor, error) {
	if s.Images == nil {
		x := make([]float32, len(rows)*s.Vectors.Dim())
		if err := s.Vectors.Gather(rows, x); err != nil {
			return nil, err
		}
		return tensors.FromFlatDataAndDimensions(x, len(rows), s.Vectors.Dim()), nil
	}
	size := s.Images.Size()
	pixels := make([]uint8, len(rows)*s.Input())
	if _, err := s.Images.Crops(rows, seed, step, pixels); err != nil {
		return nil, err
	}
	return tensors.FromFlatDataAndDimensions(pixels, len(rows), size, size, 3), nil
}

// latents encodes training examples as they are evaluated.
func (s Source) latents(ctx context.Context, r *tokenizer.Runtime, rows []int) ([]float32, error) {
	if s.Images == nil {
		x := make([]float32, len(rows)*s.Vectors.Dim())
		if err := s.Vectors.Gather(rows, x); err != nil {
			return nil, err
		}
		return r.Latents(ctx, x, len(rows))
	}
	pixels := make([]uint8, len(rows)*s.Input())
	if _, err := s.Images.Centre(rows, pixels); err != nil {
		return nil, err
	}
	return r.PictureLatents(ctx, pixels, len(rows))
}

// score evaluates held-out examples.
func (s Source) score(ctx context.Context, r *tokenizer.Runtime, rows dataset.Selection) (HeldRecord, error) {
	if s.Images == nil {
		scores, _, err := r.Evaluate(ctx, s.HeldVectors, rows, tokenizer.Options{}, nil)
		return HeldRecord{RelativeError: scores.RelativeError, MSE: scores.MSE, Utilization: scores.Utilization.Mean, Scored: scores.Vectors}, err
	}
	scores, _, err := r.EvaluatePictures(ctx, s.HeldImages, rows, tokenizer.Options{}, nil)
	return HeldRecord{MSE: scores.MSE, PSNR: scores.PSNR, SSIM: scores.SSIM, Utilization: scores.Utilization.Mean, Scored: scores.Images}, err
}

// criterion is what training is to make small: the relative error of vectors,
// the squared error of pictures.
func (h HeldRecord) criterion() float64 {
	value := h.RelativeError
	if h.PSNR > 0 {
		value = h.MSE
	}
	if math.IsNaN(value) {
		return math.Inf(1)
	}
	return value
}
