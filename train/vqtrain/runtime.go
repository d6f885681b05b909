package vqtrain

import (
	"context"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/feature"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

// Source is the data of a run.
type Source struct {
	Set     dataset.Set
	HeldSet dataset.Set // Set unless a held-out file was given
	Train   dataset.Selection
	Held    dataset.Selection // rows of HeldSet; may be empty
	// Validation are rows of Set, not trained on, that judge whether training improved on the start; may be empty.
	Validation dataset.Selection

	Mean, Variance []float64 // of the training rows of vectors, by dimension
	// From is the tokenizer that training starts from; nil: from scratch.
	From *Trained
	// Perceptual is the network behind the loss of that name; nil without.
	Perceptual *feature.LPIPS
}

// Close closes the files.
func (s Source) Close() {
	s.Set.Close()
	if s.HeldSet != s.Set {
		s.HeldSet.Close()
	}
}

// Runtime returns a runtime over the given variables, such as the result of Run.
// Its programs are compiled, because the run evaluated with it. The caller closes
// it.
func (t *Trainer) Runtime(set weights.Set) (*tokenizer.Runtime, error) {
	if err := t.renew(set); err != nil {
		return nil, err
	}
	r := t.runtime
	t.runtime = nil
	return r, nil
}

// renew gives the run's runtime other variables. Before there are codes it only
// encodes.
func (t *Trainer) renew(set weights.Set) (err error) {
	var books []*weights.Array
	if t.state.Started {
		if books, err = tokenizer.Usable(t.backend, t.model, set); err != nil {
			return err
		}
		t.holdBooks(books)
	}
	if t.runtime != nil {
		return t.runtime.Update(set, books)
	}
	t.runtime, err = tokenizer.NewRuntime(t.backend, t.model, set, books)
	return err
}

// evaluate scores held-out rows: the smaller the error, the better.
func (t *Trainer) evaluate(ctx context.Context, set weights.Set) (float64, map[string]float64, error) {
	if err := t.renew(set); err != nil {
		return 0, nil, err
	}
	held := t.source.Held
	if limit := t.config.Train.HeldRows; limit > 0 && held.Len() > limit {
		held = held.Head(limit)
	}
	result, _, err := t.runtime.Evaluate(ctx, t.source.HeldSet, held, tokenizer.Options{}, nil)
	if err != nil {
		return 0, nil, err
	}
	scores := result.Summary()
	scores.RelativeError, scores.MSE, scores.PSNR = train.Finite(scores.RelativeError), train.Finite(scores.MSE), train.Finite(scores.PSNR)
	t.record.Held = &scores
	return -scores.Criterion, nil, nil
}
