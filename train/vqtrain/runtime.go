package vqtrain

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

// Runtime returns a runtime over the given variables, such as those that Run
// returned. It is the one the run evaluated with, whose programs are compiled;
// it is the caller's to close.
func (t *Trainer) Runtime(set weights.Set) (*tokenizer.Runtime, error) {
	if err := t.renew(set); err != nil {
		return nil, err
	}
	r := t.runtime
	t.runtime = nil
	return r, nil
}

// renew gives the run's runtime other variables.
func (t *Trainer) renew(set weights.Set) error {
	books, err := tokenizer.Usable(t.backend, t.model, set)
	if err != nil {
		return err
	}
	if t.runtime == nil {
		t.runtime, err = tokenizer.NewRuntime(t.backend, t.model, set, books)
		return err
	}
	return t.runtime.Update(set, books)
}

// encoder is the run's runtime over the current network, for latents before
// there are codes.
func (t *Trainer) encoder() (*tokenizer.Runtime, error) {
	set, err := t.loop.Variables()
	if err != nil {
		return nil, err
	}
	if t.runtime == nil {
		t.runtime, err = tokenizer.NewEncoder(t.backend, t.model, set)
		return t.runtime, err
	}
	return t.runtime, t.runtime.Update(set, nil)
}

// evaluate scores held-out rows: the smaller the error, the better.
func (t *Trainer) evaluate(ctx context.Context, set weights.Set) (float64, map[string]float64, error) {
	scores, err := t.score(ctx, set, t.config.Train.HeldRows)
	if err != nil {
		return 0, nil, err
	}
	scores.RelativeError, scores.MSE, scores.PSNR = train.Finite(scores.RelativeError), train.Finite(scores.MSE), train.Finite(scores.PSNR)
	t.record.Held = &scores
	return -scores.Criterion, nil, nil
}

// score evaluates variables on at most limit held-out rows (0: all).
func (t *Trainer) score(ctx context.Context, set weights.Set, limit int) (HeldRecord, error) {
	if err := t.renew(set); err != nil {
		return HeldRecord{}, fmt.Errorf("step %d: %w", t.Step(), err)
	}
	held := t.source.Held
	if limit > 0 && held.Len() > limit {
		held = held.Head(limit)
	}
	result, _, err := t.runtime.Evaluate(ctx, t.source.HeldSet, held, tokenizer.Options{}, nil)
	if err != nil {
		return HeldRecord{}, err
	}
	return result.Summary(), nil
}
