package vqtrain

import (
	"context"
	"errors"
	"fmt"

	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// Vectors a classical quantizer is fitted to when the configuration leaves it
// open: more than this many a code change the error by less than 0.1 %.
const (
	fitPerCode = 1024
	fitLeast   = 65536
	fitBytes   = 256 << 20 // of vectors; fitting holds a few copies
)

// fitClassical fits a quantizer that takes no training steps to a seeded sample
// of the training rows. Train.Steps bounds the iterations of each k-means. There
// is no state between: an interrupted fit starts over.
func (t *Trainer) fitClassical(ctx context.Context) (weights.Set, error) {
	q := t.config.Quantizer
	n := q.Start.Sample
	if n == 0 {
		n = max(q.Codes, min(max(fitPerCode*q.Codes, fitLeast), fitBytes/(4*t.model.Dim())))
	}
	latents, n, err := t.sampleLatents(ctx, n)
	if err != nil {
		return nil, t.abandoned(ctx, err)
	}
	steps, last := t.config.Train.Steps, 0.0
	var lost error // of the log
	fitted, err := vq.FitClassical(ctx, q, vq.Latents{Rows: latents, N: n, Dim: t.model.Dim()}, vq.FitOptions{
		Seed: t.config.Seed, Iterations: steps,
		Watch: func(done, total int, meanSquare float64) {
			last = meanSquare
			// The last step is told below, with its score.
			if step := min(done*steps/total, steps-1); step > t.Step() {
				lost = errors.Join(lost, t.tell(Record{Step: step, Phase: "fit", Loss: meanSquare, Reconstruction: meanSquare}))
			}
		},
	})
	if err = errors.Join(err, lost); err != nil {
		return nil, t.abandoned(ctx, fmt.Errorf("fitting the codes: %w", err))
	}
	set, err := t.loop.Variables()
	if err != nil {
		return nil, err
	}
	set.Merge(vq.Prefix, fitted.Variables)
	if fitted.Rotation != nil {
		set["state/rotation"] = fitted.Rotation
	}
	if err := t.loop.Restart(set); err != nil {
		return nil, err
	}
	t.state.Started = true
	if set, err = t.loop.Current(); err != nil {
		return nil, err
	}
	t.record = Record{Step: steps, Phase: "fit", Loss: last, Reconstruction: last}
	if err := t.measure(&train.Step{Record: &train.Record{}}); err != nil {
		return nil, err
	}
	if t.source.Held.Len() > 0 {
		if _, _, err := t.evaluate(ctx, set); err != nil {
			return nil, t.abandoned(ctx, err)
		}
	}
	return set, t.tell(t.record)
}

// tell logs a record and shows it to the observer.
func (t *Trainer) tell(r Record) error {
	if err := t.loop.Log(r.Step, r); err != nil {
		return err
	}
	if t.observe.Step != nil {
		t.observe.Step(r)
	}
	return nil
}

// abandoned is the error of a fit that was cut short.
func (t *Trainer) abandoned(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return train.ErrInterrupted
	}
	return err
}
