package train

import (
	"context"
	"errors"
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/checkpoint"
	"github.com/gritvq/gritvq/weights"
)

// skipsInARow is the number of steps without a finite gradient, one after the
// other, at which a run gives up.
const skipsInARow = 20

// Run trains a model; the directory holds checkpoint.safetensors and log.jsonl
// meanwhile. Every run of the same problem, configuration and seed ends with the
// same weights however often it was stopped.
func Run(ctx context.Context, backend compute.Backend, problem Problem, config Config, o Options) (*Result, error) {
	t, err := New(backend, problem, config, o)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	return t.Run(ctx)
}

// Run trains to the end. It stops early with [ErrInterrupted] when ctx ends,
// after saving.
func (t *Trainer) Run(ctx context.Context) (*Result, error) {
	feed := dataset.NewPrefetcher(ctx, int64(t.state.Step), int64(t.config.Steps), 2, t.batch, finalize)
	defer feed.Close()
	rhythm := checkpoint.NewRhythm(t.config.Checkpoint)
	for ctx.Err() == nil && t.state.Step < t.config.Steps && !t.state.Stopped {
		inputs, err := feed.Next(ctx)
		if err == nil {
			err = t.Advance(ctx, inputs)
			finalize(inputs)
		}
		if err != nil && errors.Is(err, ctx.Err()) {
			break
		}
		if err != nil {
			// Also when ctx has ended meanwhile: the step is counted and the work due
			// after it is not done, so a run cannot continue from this state.
			return nil, err
		}
		if rhythm.Due(t.state.Step) {
			if err := t.Save(); err != nil {
				return nil, err
			}
		}
	}
	if ctx.Err() != nil {
		// A step that was cut short left nothing behind: the state is that of the
		// last whole step.
		if err := t.Save(); err != nil {
			return nil, fmt.Errorf("%w, and the checkpoint could not be saved: %w", ErrInterrupted, err)
		}
		return nil, ErrInterrupted
	}
	set := t.best
	if set == nil {
		var err error
		if set, err = t.Current(); err != nil {
			return nil, err
		}
	}
	return &Result{Weights: set, Seconds: t.seconds()}, nil
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
func (t *Trainer) Advance(ctx context.Context, inputs []*tensors.Tensor) error {
	kind := "training"
	if t.problem.Before != nil {
		var err error
		if kind, err = t.problem.Before(ctx); err != nil {
			return err
		}
	}
	if t.exec == nil {
		if err := t.compile(kind); err != nil {
			return err
		}
	}
	rate := t.rate()
	report, outputs, err := t.call(inputs)
	if err != nil {
		return fmt.Errorf("step %d: %w", t.state.Step+1, err)
	}
	defer finalize(outputs)
	t.state.Step++
	last := t.state.Step == t.config.Steps
	s := &Step{
		Record:    &Record{Step: t.state.Step, GradientNorm: Finite(float64(report[outNorm])), Rate: rate},
		Kept:      report[outKept] > 0,
		Gradients: map[string]float64{},
		Inputs:    inputs,
		Outputs:   outputs,
		Logged:    last || t.state.Step%t.config.Log == 0,
		Evaluated: t.problem.Evaluate != nil && (last || due(t.state.Step, t.config.Evaluate)),
	}
	for i, g := range weights.Groups {
		if norm := Finite(float64(report[outGroups+i])); norm > 0 {
			s.Gradients[string(g)] = norm
		}
	}
	losses := report[outGroups+len(weights.Groups):]
	s.Loss, s.Scalars = Finite(float64(losses[0])), losses[1:]
	return t.after(ctx, s)
}

// due says whether something that happens every so many steps (0: never) does.
func due(step, every int) bool { return every > 0 && step%every == 0 }

// after does the work due after a step. The order is fixed, and everything in it
// depends only on the saved state, so that a resumed run repeats it.
func (t *Trainer) after(ctx context.Context, s *Step) error {
	if err := t.guard(s); err != nil {
		return err
	}
	if t.problem.After != nil {
		if err := t.problem.After(ctx, s); err != nil {
			return err
		}
	}
	if s.Evaluated {
		// An interruption waits for the evaluation: the step is already counted, and
		// a resumed run would not repeat it.
		if err := t.evaluate(context.WithoutCancel(ctx), s.Record); err != nil {
			return err
		}
	}
	var line any = *s.Record
	if t.problem.Describe != nil {
		line = t.problem.Describe(*s.Record)
	}
	if s.Logged || s.Evaluated || s.Event != "" {
		if err := t.journal.write(line); err != nil {
			return err
		}
	}
	if t.options.Watch.Step != nil {
		t.options.Watch.Step(*s.Record)
	}
	return nil
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
	set, err := t.Current()
	if err != nil {
		return err
	}
	score, all, err := t.problem.Evaluate(ctx, set)
	if err != nil {
		return fmt.Errorf("evaluating at step %d: %w", t.state.Step, err)
	}
	r.Scores = all
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
func (t *Trainer) Log(step int, line any) error {
	t.state.Step = step
	return t.journal.write(line)
}

// compile prepares the step. Engines that optimise their programs, as XLA does
// for up to a minute, are announced; the embedded one starts at once.
func (t *Trainer) compile(kind string) (err error) {
	if weights.Compiles(t.backend) {
		t.Status("compiling the " + kind + " step")
	}
	t.exec, err = model.NewExec(t.backend, t.bank.Store(), func(_ *model.Scope, in []*graph.Node) []*graph.Node {
		next, outputs := t.step(t.bank.Vars(in[0].Graph()), in[0], Inputs{Random: in[1], Batch: in[2:]})
		t.bank.Assign(next)
		return outputs
	})
	return err
}

// call runs the parts of a step one after another and returns its scalars and the
// outputs of all parts.
func (t *Trainer) call(inputs []*tensors.Tensor) (report []float32, outputs []*tensors.Tensor, err error) {
	defer func() {
		if err != nil {
			finalize(outputs)
		}
	}()
	parts := t.parts()
	size := len(inputs) / parts
	for i := range parts {
		part, more, err := t.callPart(i, inputs[i*size:(i+1)*size])
		if err != nil {
			return nil, outputs, err
		}
		outputs = append(outputs, more...)
		if report == nil {
			report = make([]float32, len(part))
		}
		for j, value := range part {
			if j < outGroups+len(weights.Groups) {
				report[j] = value // of the whole batch, known with its last part
			} else {
				report[j] += value / float32(parts)
			}
		}
	}
	return report, outputs, nil
}

func (t *Trainer) callPart(part int, inputs []*tensors.Tensor) (report []float32, outputs []*tensors.Tensor, err error) {
	purpose := fmt.Sprintf("noise %d", t.state.Step)
	if part > 0 {
		purpose += fmt.Sprintf(" part %d", part)
	}
	random, err := graph.RNGStateFromSeed(int64(weights.Rand(t.config.Seed, purpose).Uint64() >> 1))
	if err != nil {
		return nil, nil, err
	}
	defer random.FinalizeAll()
	pace := t.pace(t.Updates()+1, part == t.parts()-1)
	defer pace.FinalizeAll()
	args := []any{pace, random}
	for _, x := range inputs {
		args = append(args, x)
	}
	out, err := t.exec.Call(args...)
	if err != nil {
		return nil, nil, err
	}
	report, err = tensors.CopyFlatData[float32](out[0])
	out[0].FinalizeAll()
	return report, out[1:], err
}
