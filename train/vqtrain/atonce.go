package vqtrain

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// fitClassical fits a quantizer that takes no training steps to a seeded sample
// of the training rows. Train.Steps bounds the iterations of each k-means. There
// is no state between: an interrupted fit starts over.
func (t *Trainer) fitClassical(ctx context.Context) (weights.Set, error) {
	latents, err := t.sampleLatents(ctx, fitSample)
	if err != nil {
		return nil, err
	}
	steps, last := t.config.Train.Steps, 0.0
	var lost error // of the log
	fitted, err := vq.FitClassical(ctx, t.config.Quantizer, latents, vq.FitOptions{
		Seed: t.config.Seed, Iterations: steps,
		Watch: func(done, total int, meanSquare float64) {
			last = meanSquare
			// The last step is told below, with its score.
			if step := min(done*steps/total, steps-1); step > t.Step() {
				t.record = Record{Phase: "fit", Reconstruction: meanSquare}
				lost = errors.Join(lost, t.loop.Log(train.Record{Step: step, Loss: meanSquare}))
			}
		},
	})
	if err = errors.Join(err, lost); err != nil {
		return nil, fmt.Errorf("fitting the codes: %w", err)
	}
	if fitted.Rotation != nil {
		if err := t.bank.Install(weights.Set{"state/rotation": fitted.Rotation}); err != nil {
			return nil, err
		}
	}
	if err := t.begin(ctx, fitted.Variables); err != nil {
		return nil, err
	}
	t.record = Record{Phase: "fit", Reconstruction: last}
	if err := t.measure(&train.Step{Record: &train.Record{}}); err != nil {
		return nil, err
	}
	set, err := t.loop.Variables(true)
	if err == nil && t.source.Held.Len() > 0 {
		_, _, err = t.evaluate(ctx, set)
	}
	if err != nil {
		return nil, err
	}
	return set, t.loop.Log(train.Record{Step: steps, Loss: last})
}

// keepStart returns the variables of the start, without a step of training.
func (t *Trainer) keepStart(ctx context.Context) (weights.Set, error) {
	if err := t.start(ctx); err != nil {
		return nil, err
	}
	t.record = Record{Phase: "start", Choice: recordChoice(t.choice)}
	if err := t.measure(&train.Step{Record: &train.Record{}}); err != nil {
		return nil, err
	}
	set, err := t.loop.Variables(true)
	if err == nil && t.source.Held.Len() > 0 {
		_, _, err = t.evaluate(ctx, set)
	}
	if err != nil {
		return nil, err
	}
	return set, t.loop.Log(train.Record{Step: 1, Event: "training does not improve on the start for validation rows: the start is kept"})
}

// startError is the error of the start on held-out rows. Codes that wait for a network
// to warm up have none.
func (t *Trainer) startError(ctx context.Context) (float64, error) {
	if t.warmup() > 0 {
		return math.MaxFloat64, nil
	}
	if err := t.start(ctx); err != nil {
		return 0, err
	}
	set, err := t.loop.Variables(true)
	if err != nil {
		return 0, err
	}
	score, _, err := t.evaluate(ctx, set)
	return min(-score, math.MaxFloat64), err
}
