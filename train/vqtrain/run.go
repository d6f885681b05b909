package vqtrain

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/checkpoint"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// Run trains to the end (classical methods are fitted at once) and returns the
// variables to export. It stops early with [ErrInterrupted] when ctx ends, after
// saving.
func (t *Trainer) Run(ctx context.Context) (weights.Set, error) {
	if vq.Classical(t.config.Quantizer.Method) {
		return t.fitClassical(ctx)
	}
	steps := t.config.Train.Steps
	feed := dataset.NewPrefetcher(ctx, int64(t.state.Step), int64(steps), 2, t.batch, finalize)
	defer feed.Close()
	rhythm := checkpoint.NewRhythm(t.config.Train.Checkpoint)
	for t.state.Step < steps && !t.state.Stopped {
		if ctx.Err() != nil {
			return nil, t.interrupt()
		}
		parts, err := feed.Next(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil, t.interrupt()
			}
			if errors.Is(err, io.EOF) {
				break
			}
			return nil, err
		}
		err = t.one(ctx, parts...)
		finalize(parts)
		switch {
		case err == nil:
		case errors.Is(err, ctx.Err()):
			return nil, t.interrupt()
		default: // also when ctx has ended meanwhile: a step that failed half way is not one to continue from
			return nil, err
		}
		if rhythm.Due(t.state.Step) {
			if err := t.save(); err != nil {
				return nil, err
			}
		}
	}
	return t.export()
}

// batch reads the examples of a step, in the parts it is taken in, and hands
// them to the engine's device.
func (t *Trainer) batch(step int64) ([]*tensors.Tensor, error) {
	rows := make([]int, t.config.Train.Batch)
	t.sampler.Batch(step, rows)
	parts := make([]*tensors.Tensor, max(1, t.config.Train.Accumulate))
	size := len(rows) / len(parts)
	for i := range parts {
		x, err := t.source.batch(rows[i*size:(i+1)*size], t.config.Seed, step*int64(len(parts))+int64(i))
		if err == nil {
			err = x.MaterializeOnDevice(t.backend, false, 0)
		}
		if err != nil {
			finalize(parts[:i])
			return nil, err
		}
		parts[i] = x
	}
	return parts, nil
}

func finalize(parts []*tensors.Tensor) {
	for _, x := range parts {
		x.FinalizeAll()
	}
}

// interrupt saves where the run is. A step that was cut short left nothing
// behind: the state is that of the last whole step.
func (t *Trainer) interrupt() error {
	if err := t.save(); err != nil {
		return fmt.Errorf("%w, and the checkpoint could not be saved: %w", ErrInterrupted, err)
	}
	return ErrInterrupted
}

// one takes a step on the parts of a batch and does what falls due after it.
func (t *Trainer) one(ctx context.Context, parts ...*tensors.Tensor) error {
	step := t.state.Step
	if !t.state.Started && step >= t.warmup() {
		if err := t.start(ctx); err != nil {
			return err
		}
	}
	if !t.state.Started {
		report, err := t.call(t.warmExec(), parts, nil, nil)
		if err != nil {
			return err
		}
		return t.after(ctx, Record{Step: step + 1, Phase: "warm-up", scalars: report}, parts[0])
	}
	if t.cacheDue(step) {
		// The first refresh has nothing collected to step with.
		if err := t.refreshCache(step > t.state.Since && len(t.accumulators) > 0); err != nil {
			return err
		}
	}
	levels := t.activeLevels(step)
	var codes []int32
	report, err := t.call(t.trainExec(), parts, &codes, func(part int) ([]any, error) {
		purpose := fmt.Sprintf("noise %d", step)
		if part > 0 {
			purpose += fmt.Sprintf(" part %d", part)
		}
		noise, err := graph.RNGStateFromSeed(int64(weights.Rand(t.config.Seed, purpose).Uint64() >> 1))
		return []any{t.activeMask(levels), noise}, err
	})
	if err != nil {
		return err
	}
	r := Record{Step: step + 1, Phase: "train", scalars: report}
	if r.kept() {
		t.window.add(codes, levels)
	}
	return t.after(ctx, r, parts[0])
}

// after advances the state and runs the periodic work. The order is fixed, and
// everything in it depends only on the state, so that a resumed run repeats it.
func (t *Trainer) after(ctx context.Context, r Record, x *tensors.Tensor) error {
	t.state.Step++
	if err := t.guard(&r); err != nil {
		return err
	}
	logged := t.state.Step%t.config.Train.Log == 0 || t.state.Step == t.config.Train.Steps
	if logged && t.state.Started {
		t.measureUsage(&r) // before a reset starts the window anew
	}
	if t.state.Started && r.kept() { // latents of a skipped step are no targets
		if err := t.solveAverages(); err != nil {
			return err
		}
		if err := t.maybeReset(x, &r); err != nil {
			return err
		}
	}
	if logged {
		if err := t.measure(&r); err != nil {
			return err
		}
	}
	if every := t.config.Train.Evaluate; every > 0 && t.state.Started && t.state.Step%every == 0 && t.source.Held.Len() > 0 {
		// An interruption waits for the evaluation: the step is already counted,
		// and a resumed run would not repeat it.
		if err := t.evaluate(context.WithoutCancel(ctx), &r); err != nil {
			return err
		}
		logged = true
	}
	r.fill(t)
	if logged {
		if err := t.journal.write(r); err != nil {
			return err
		}
	}
	if t.observe.Step != nil {
		t.observe.Step(r)
	}
	return nil
}
