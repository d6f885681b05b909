package vqtrain

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// role says how a variable changes. Codes that learn by running averages are
// frozen for the optimizer and followed by the weight averages.
func (t *Trainer) role(p string) train.Role {
	g := weights.GroupOf(p)
	if role, ok := discriminating(p); ok {
		return role
	}
	switch {
	case vq.TrainingOnly(p):
		return train.Internal
	case g == weights.State || t.frozen(p) || g != weights.Network && t.finishing(0):
		return train.Fixed
	case vq.Frozen(t.model.Quantizer, g) && t.config.Quantizer.Learn == "ema":
		return train.Followed
	case vq.Frozen(t.model.Quantizer, g):
		return train.Fixed
	case t.accumulates() && !slices.Contains([]weights.Group{weights.Network, weights.Encoder, weights.Condition, weights.Radius}, g):
		return train.Deferred
	}
	return train.Trained
}

// finishing says whether encoder and codes stay as they are from a step on.
func (t *Trainer) finishing(step int) bool {
	return float64(step) >= (1-t.config.Train.Finish)*float64(t.config.Train.Steps)
}

// rate is the multiple of the base rate that a group trains with in the next step.
func (t *Trainer) rate(g weights.Group) float64 {
	if g == weights.Discriminator {
		return t.config.Train.Adversarial.Rate
	}
	if g != weights.Network && t.finishing(t.Step()) {
		return 0
	}
	return t.config.Train.Rates.Of(g)
}

// before places the codes when the warm-up ends, refreshes cached codebooks and, with
// a beam, finds the codes of the batch.
func (t *Trainer) before(ctx context.Context, inputs []*tensors.Tensor) (kind string, given []*tensors.Tensor, err error) {
	step := t.Step()
	if !t.state.Started && step >= t.warmup() {
		if err := t.start(ctx); err != nil {
			return "", nil, err
		}
	}
	if !t.state.Started {
		return "warm-up", nil, nil
	}
	if err := t.measureOwnStart(ctx); err != nil { // a run that was stopped here measures again
		return "", nil, err
	}
	if err := t.beginContest(step); err != nil {
		return "", nil, err
	}
	if t.cacheDue(step) {
		// The first refresh has nothing collected to step with.
		if err := t.refreshCache(t.loop.Updates() > 0 && len(t.accumulators) > 0); err != nil {
			return "", nil, err
		}
	}
	if err := t.keepPrevious(step + 1); err != nil {
		return "", nil, err
	}
	if t.config.Quantizer.SearchesBeam() {
		given, err = t.assign(step, inputs)
		if errors.Is(err, index.ErrNotFinite) {
			return "", nil, fmt.Errorf("training diverged: after step %d codes are no longer finite; lower train.optimizer.rate (now %g)",
				step, t.config.Train.Optimizer.Rate)
		}
		if err != nil {
			return "", nil, fmt.Errorf("finding the codes of a batch: %w", err)
		}
	}
	return "training", given, nil
}

// keepPrevious keeps the usable codes for the drift of a step that is logged. With a
// cache, drift is that of the refreshes.
func (t *Trainer) keepPrevious(step int) (err error) {
	t.previous = nil
	logged := step == t.config.Train.Steps || step%t.config.Train.Log == 0
	if logged && t.config.Quantizer.Cache.Period <= 1 {
		t.previous, err = t.currentBooks()
	}
	return err
}

// after does a tokenizer's periodic work. The order is fixed.
func (t *Trainer) after(s *train.Step) error {
	if s.Step == 1 && t.choice != nil {
		s.Logged = true
	}
	t.record = Record{Phase: "warm-up", Epoch: t.sampler.Epoch(int64(s.Step - 1)), Gradients: s.Gradients}
	for i, field := range []*float64{&t.record.Reconstruction, &t.record.Auxiliary, &t.record.Gap, &t.record.K, &t.record.Perceptual} {
		*field = train.Finite(float64(s.Scalars[i]))
	}
	if s.Step == 1 {
		t.record.Choice = recordChoice(t.choice)
	}
	if err := t.guard(s); err != nil {
		return err
	}
	if !t.state.Started {
		s.Evaluated = false
		return nil
	}
	t.record.Phase = "train"
	pulls, last := &PullRecord{}, s.Scalars[len(s.Scalars)-vq.PullScalars:]
	for i, field := range []*float64{&pulls.Aligned, &pulls.Encoder, &pulls.Both} {
		*field = train.Finite(float64(last[i]))
	}
	t.record.Pull = pulls
	if err := t.watchContest(s); err != nil {
		return err
	}
	if s.Kept {
		var codes []int32
		for _, out := range s.Outputs {
			part, err := tensors.CopyFlatData[int32](out)
			if err != nil {
				return err
			}
			codes = append(codes, part...)
		}
		t.state.Window.add(codes, t.activeLevels(s.Step-1))
	}
	if s.Logged {
		t.measureUsage() // before a reset starts the window anew
	}
	if s.Kept { // latents of a skipped step are no targets
		if err := t.rewire(s.Step); err != nil {
			return err
		}
		if err := t.maybeReset(s); err != nil {
			return err
		}
	}
	// The caller scores the end of a run, on all held-out rows.
	every := t.config.Train.Evaluate
	s.Evaluated = s.Evaluated && every > 0 && s.Step%every == 0
	if s.Logged {
		return t.measure(s)
	}
	return nil
}
