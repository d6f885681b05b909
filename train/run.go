package train

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/weights"
)

// skipsInARow is the number of steps without a finite gradient, one after the
// other, at which a run gives up.
const skipsInARow = 20

// saveAfter is the time after which a checkpoint is due in any case, to bound the
// loss by a kill.
var saveAfter = 3 * time.Minute

// promptly is the time that a run which is to stop waits for an evaluation. Before a step whose evaluation may take longer
// a checkpoint is saved, from which a resumed run repeats the step.
var promptly = time.Second

// Run trains a model. Every run of the same problem, configuration and seed ends
// with the same weights however often it was stopped.
func Run(ctx context.Context, backend compute.Backend, problem Problem, config Config, o Options) (*Result, error) {
	t, err := New(ctx, backend, problem, config, o)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	return t.Run(ctx)
}

// Run trains to the end. When ctx ends it saves a checkpoint and returns
// [ErrInterrupted].
func (t *Trainer) Run(ctx context.Context) (_ *Result, err error) {
	feed := dataset.NewPrefetcher(ctx, int64(t.state.Step), int64(t.config.Steps), 2, t.batch, finalize)
	defer feed.Close()
	saved := time.Now()
	if t.problem.FromStart && t.problem.Evaluate != nil && t.state.Step == 0 {
		var r Record
		if err := t.evaluate(ctx, &r); err != nil {
			return nil, err
		}
		if err := t.log(r, true); err != nil {
			return nil, err
		}
	}
	for ctx.Err() == nil && t.state.Step < t.config.Steps && !t.state.Stopped {
		inputs, err := feed.Next(ctx)
		if err == nil && t.evaluates(t.state.Step+1) && t.evaluation > promptly && t.saved != t.state.Step {
			err = t.Save()
		}
		if err == nil {
			err = t.Advance(ctx, inputs)
			finalize(inputs)
		}
		if err != nil && (errors.Is(err, ctx.Err()) || t.undone) {
			break
		}
		if err == nil && (t.state.Step%t.config.Checkpoint == 0 || time.Since(saved) >= saveAfter) {
			err, saved = t.Save(), time.Now()
		}
		if err != nil {
			// Also when ctx has ended meanwhile: the step is counted and the work due
			// after it is not done, so a run cannot continue from this state.
			return nil, err
		}
	}
	if t.undone || ctx.Err() != nil && t.saved == t.state.Step {
		return nil, ErrInterrupted // the checkpoint is there already, of what the steps left
	}
	if ctx.Err() != nil {
		// An interrupted step changes nothing: the state is from the last whole
		// step.
		if err := t.Save(); err != nil {
			return nil, fmt.Errorf("%w, and the checkpoint could not be saved: %w", ErrInterrupted, err)
		}
		return nil, ErrInterrupted
	}
	set := t.best
	if set == nil {
		set, err = t.Variables(true)
	}
	return &Result{Weights: set, Seconds: t.Seconds()}, err
}

// batch reads the inputs of a step and hands them to the engine's device.
func (t *Trainer) batch(step int64) ([]*tensors.Tensor, error) {
	inputs, err := t.problem.Batch(step)
	for _, x := range inputs {
		if err == nil {
			err = x.MaterializeOnDevice(t.backend, false, 0)
		}
	}
	if err != nil {
		finalize(inputs)
		return nil, err
	}
	return inputs, nil
}

func finalize(list []*tensors.Tensor) {
	for _, x := range list {
		x.FinalizeAll()
	}
}

// Advance takes a step on the inputs of a batch and does the work due after it.
// The order is fixed, and everything in it depends only on the saved state, so
// that a resumed run repeats it.
func (t *Trainer) Advance(ctx context.Context, inputs []*tensors.Tensor) (err error) {
	t.within = ctx
	defer func() { t.within = context.Background() }()
	kind, more := "training", []*tensors.Tensor(nil)
	if t.problem.Before != nil {
		if kind, more, err = t.problem.Before(ctx, inputs); err != nil {
			return err
		}
	}
	defer finalize(more)
	rate := t.rate()
	report, outputs, err := t.call(kind, inputs, more)
	if err != nil {
		return fmt.Errorf("step %d: %w", t.state.Step+1, err)
	}
	defer finalize(outputs)
	t.state.Step++
	t.within = context.Background() // the work due after a step is done in any case
	step, last := t.state.Step, t.state.Step == t.config.Steps
	s := &Step{
		Record:    &Record{Step: step, Loss: Finite(float64(report[outLoss])), GradientNorm: Finite(float64(report[outNorm])), Rate: rate},
		Kept:      report[outKept] > 0,
		Gradients: map[string]float64{},
		Scalars:   report[outLoss+1:],
		Inputs:    inputs,
		Outputs:   outputs,
		Logged:    last || step%t.config.Log == 0,
		Evaluated: t.evaluates(step),
	}
	for i, g := range weights.Groups {
		if norm := Finite(float64(report[outGroups+i])); norm > 0 {
			s.Gradients[string(g)] = norm
		}
	}
	if err := t.guard(s); err != nil {
		return err
	}
	if t.problem.After != nil {
		if err := t.problem.After(s); err != nil {
			return err
		}
	}
	if s.Evaluated {
		// The step is already counted, and a resumed run would not make up for its evaluation. So an interruption waits
		// for it, unless there is a checkpoint of the step before, or none at all.
		within := context.WithoutCancel(ctx)
		if t.journal == nil || t.saved == step-1 {
			within = ctx
		}
		begun := time.Now()
		if err := t.evaluate(within, s.Record); err != nil {
			t.undone = within.Err() != nil && (errors.Is(err, within.Err()) || errors.Is(err, ErrInterrupted))
			return err
		}
		t.evaluation = time.Since(begun)
	}
	return t.log(*s.Record, s.Logged || s.Evaluated || s.Event != "")
}

// evaluates says whether a step is followed by an evaluation.
func (t *Trainer) evaluates(step int) bool {
	return t.problem.Evaluate != nil && (step == t.config.Steps || t.config.Evaluate > 0 && step%t.config.Evaluate == 0)
}

// guard counts steps that the graph skipped.
func (t *Trainer) guard(s *Step) error {
	if s.Kept {
		t.state.InARow = 0
	} else {
		t.state.Skipped++
		t.state.InARow++
		s.Event = "loss or gradient is not finite: step skipped"
	}
	s.Skipped = t.state.Skipped
	if t.state.InARow >= skipsInARow {
		return fmt.Errorf("training diverged: %d steps in a row up to step %d had no finite loss or gradient; "+
			"lower train.optimizer.rate (now %g) or set train.clip_norm", t.state.InARow, t.state.Step, t.config.Optimizer.Rate)
	}
	return nil
}

// evaluate scores the current weights and keeps count of improvements.
func (t *Trainer) evaluate(ctx context.Context, r *Record) error {
	t.Status("evaluating")
	set, err := t.Variables(true)
	if err != nil {
		return err
	}
	score, all, err := t.problem.Evaluate(ctx, set)
	if err != nil {
		return fmt.Errorf("evaluating at step %d: %w", t.state.Step, err)
	}
	r.Scores = all
	t.watchFlat(score, r)
	if score > t.state.Best {
		t.state.Best, t.state.BestStep, t.state.Stale = score, t.state.Step, 0
		if t.config.Best {
			t.best = set
		}
		return nil
	}
	t.state.Stale++
	if p := t.config.Patience; p > 0 && t.state.Stale >= p {
		t.state.Stopped = true
		r.Event = fmt.Sprintf("no improvement since step %d: stopping early", t.state.BestStep)
	}
	return nil
}

// Log moves to a step without taking it and writes a line about it, for problems
// that are not solved step by step.
func (t *Trainer) Log(r Record) error {
	t.state.Step = r.Step
	return t.log(r, true)
}

// log tells the observer about a step and writes a line about it if wanted.
func (t *Trainer) log(r Record, wanted bool) error {
	var line any = r
	if t.problem.Describe != nil {
		line = t.problem.Describe(r)
	}
	if wanted && t.journal != nil {
		if err := t.journal.write(line); err != nil {
			return err
		}
	}
	if t.options.Watch.Step != nil {
		t.options.Watch.Step(r)
	}
	return nil
}
