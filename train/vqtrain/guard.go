package vqtrain

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/weights"
)

// Bounds of the safeguards.
const (
	skipsInARow = 20  // steps skipped one after the other before the run gives up
	spikeFactor = 10  // reconstruction error above this multiple of its mean is an anomaly
	spikeAfter  = 200 // steps before spikes are judged
)

// event tells the observer about something that happened, and returns the text.
func (t *Trainer) event(format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	if t.observe.Event != nil {
		t.observe.Event(t.state.Step, text)
	}
	return text
}

// guard judges the step just taken: non-finite steps were skipped by the graph
// and are counted here; a spike of the error refreshes the cached codebook.
func (t *Trainer) guard(r *Record) error {
	reconstruction := float64(r.scalars[1])
	if !r.kept() {
		t.state.Skipped++
		t.state.InARow++
		r.Event = t.event("loss or gradient is not finite: step skipped")
		if t.state.InARow >= skipsInARow {
			return fmt.Errorf("training diverged: %d steps in a row up to step %d had no finite loss or gradient; lower train.optimizer.rate (now %g) or set train.clip_norm",
				t.state.InARow, t.state.Step, t.config.Train.Optimizer.Rate)
		}
		return nil
	}
	t.state.InARow = 0
	taken := t.state.Step - t.state.Since
	if t.state.Smooth == 0 || taken <= 1 {
		t.state.Smooth = reconstruction
	}
	if taken > spikeAfter && reconstruction > spikeFactor*t.state.Smooth {
		r.Event = t.event("reconstruction error %.3g is over %d times its mean", reconstruction, spikeFactor)
		if t.state.Started && t.config.Quantizer.Cache.Period > 1 {
			if err := t.refreshCache(false); err != nil {
				return err
			}
		}
	}
	t.state.Smooth += 0.02 * (reconstruction - t.state.Smooth)
	return nil
}

// evaluate scores held-out rows and keeps count of improvements.
func (t *Trainer) evaluate(ctx context.Context, r *Record) error {
	set, err := t.current()
	if err != nil {
		return err
	}
	scores, err := t.score(ctx, set, t.config.Train.HeldRows)
	if err != nil {
		return err
	}
	best := scores.criterion()
	scores.RelativeError, scores.MSE, scores.PSNR = finite(scores.RelativeError), finite(scores.MSE), finite(scores.PSNR)
	r.Held = &scores
	if best < t.state.Best {
		t.state.Best, t.state.BestStep, t.state.Stale = best, t.state.Step, 0
		if t.config.Train.Best {
			t.best = set
		}
		return nil
	}
	t.state.Stale++
	if p := t.config.Train.Patience; p > 0 && t.state.Stale >= p {
		t.state.Stopped = true
		r.Event = t.event("no improvement since step %d: stopping early", t.state.BestStep)
	}
	return nil
}

// score evaluates variables on at most limit held-out rows (0: all).
func (t *Trainer) score(ctx context.Context, set weights.Set, limit int) (HeldRecord, error) {
	if err := t.renew(set); err != nil {
		return HeldRecord{}, fmt.Errorf("step %d: %w", t.state.Step, err)
	}
	held := t.source.Held
	if limit > 0 && held.Len() > limit {
		held = held.Head(limit)
	}
	return t.source.score(ctx, t.runtime, held)
}
