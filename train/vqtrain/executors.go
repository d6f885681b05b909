package vqtrain

import (
	"fmt"
	"math"
	"strings"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// pace computes the scalar input of an optimizer step, the updates-th of its
// parameters; apply is false while parts of a batch are collected.
func (t *Trainer) pace(updates int, apply bool) *tensors.Tensor {
	o, step, taken := t.config.Train.Optimizer, t.state.Step, float64(updates)
	rate := o.Rate * t.config.Train.Schedule.At(step, t.config.Train.Steps)
	values := make([]float32, paceInputs, paceInputs+len(weights.Groups))
	values[paceCorrection1], values[paceCorrection2] = float32(1-math.Pow(o.Beta1, taken)), float32(1-math.Pow(o.Beta2, taken))
	values[paceProgress], values[paceClip] = float32(float64(step)/float64(t.config.Train.Steps)), float32(t.config.Train.ClipNorm)
	// The average forgets its start at first, so that short runs do not drag
	// their initial weights along.
	values[paceAverage] = float32(1 - min(t.config.Train.Average, (1+taken)/(10+taken)))
	if apply {
		values[paceApply] = 1
	}
	for _, g := range weights.Groups {
		values = append(values, float32(rate*t.config.Train.Rates.Of(g)))
	}
	return tensors.FromFlatDataAndDimensions(values, len(values))
}

// call runs the parts of a step one after another and returns its scalars, those
// of the losses averaged over the parts, and, if wanted, all codes.
func (t *Trainer) call(exec *model.Exec, parts []*tensors.Tensor, codes *[]int32, more func(part int) ([]any, error)) ([]float32, error) {
	var total []float32
	for i, x := range parts {
		var extra []any
		if more != nil {
			var err error
			if extra, err = more(i); err != nil {
				return nil, err
			}
		}
		report, chosen, err := t.callPart(exec, x, i == len(parts)-1, codes != nil, extra)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", t.state.Step+1, err)
		}
		if codes != nil {
			*codes = append(*codes, chosen...)
		}
		if total == nil {
			total = make([]float32, len(report))
		}
		for j, value := range report {
			total[j] += value / float32(len(parts))
			if stepScalars[j] == "kept" || strings.HasPrefix(stepScalars[j], "gradient_") {
				total[j] = value // of the whole batch, known with its last part
			}
		}
	}
	return total, nil
}

func (t *Trainer) callPart(exec *model.Exec, x *tensors.Tensor, last, wantCodes bool, more []any) (report []float32, codes []int32, err error) {
	pace := t.pace(t.state.Step-t.state.Since+1, last)
	defer pace.FinalizeAll()
	out, err := exec.Call(append([]any{x, pace}, more...)...)
	for _, m := range more {
		m.(*tensors.Tensor).FinalizeAll()
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		for _, o := range out {
			o.FinalizeAll()
		}
	}()
	if report, err = tensors.CopyFlatData[float32](out[0]); err == nil && wantCodes {
		codes, err = tensors.CopyFlatData[int32](out[1])
	}
	return report, codes, err
}

func (t *Trainer) trainExec() *model.Exec {
	if t.taken == nil {
		t.compiling("the training step")
		t.taken = model.MustNewExec(t.backend, t.bank.Store(), func(_ *model.Scope, in []*graph.Node) []*graph.Node {
			v := t.bank.Vars(in[0].Graph())
			next, report, index := t.trainStep(v, t.model.Pass, t.parameters, in[0], in[1], in[2], in[3])
			t.bank.Assign(next)
			return []*graph.Node{report, index}
		})
	}
	return t.taken
}

func (t *Trainer) warmExec() *model.Exec {
	if t.warm == nil {
		t.compiling("the warm-up step")
		t.warm = model.MustNewExec(t.backend, t.bank.Store(), func(_ *model.Scope, in []*graph.Node) []*graph.Node {
			v := t.bank.Vars(in[0].Graph())
			unquantized := func(ctx *vq.Context, x *graph.Node) tokenizer.Pass { return t.model.Unquantized(ctx.Vars, x) }
			next, report, _ := t.trainStep(v, unquantized, t.parameters, in[0], in[1], nil, nil)
			t.bank.Assign(next)
			return []*graph.Node{report}
		})
	}
	return t.warm
}

// compiling tells the observer that an engine which optimises its programs, as
// XLA does for up to a minute, is about to; the embedded one starts at once.
func (t *Trainer) compiling(what string) {
	if weights.Compiles(t.backend) {
		t.status("compiling " + what)
	}
}

func (t *Trainer) status(text string) {
	if t.observe.Status != nil {
		t.observe.Status(text)
	}
}

// warmup is the number of steps before codes are placed: none when there is no
// network to warm up.
func (t *Trainer) warmup() int {
	if t.model.Identity() {
		return 0
	}
	return int(t.config.Quantizer.Start.Warmup * float64(t.config.Train.Steps))
}

// cacheDue says whether C' must be rebuilt before this step.
func (t *Trainer) cacheDue(step int) bool {
	period := t.config.Quantizer.Cache.Period
	return period > 1 && (step-t.warmup())%period == 0
}

// refreshCache rebuilds the cached codebooks and, with advance, first steps the
// codebook's parameters by the gradients a period collected.
func (t *Trainer) refreshCache(advance bool) error {
	exec := &t.refresh
	if advance {
		exec = &t.advance
	}
	if *exec == nil {
		*exec = model.MustNewExec(t.backend, t.bank.Store(), func(_ *model.Scope, scalars *graph.Node) *graph.Node {
			v := t.bank.Vars(scalars.Graph())
			t.bank.Assign(t.refreshStep(v, scalars, advance))
			return graph.Slice(scalars, graph.AxisRange(0, 1))
		})
	}
	pace := t.pace(max(1, (t.state.Step-t.state.Since)/t.config.Quantizer.Cache.Period), true)
	defer pace.FinalizeAll()
	out, err := (*exec).Call(pace)
	if err != nil {
		return fmt.Errorf("refreshing the codebook: %w", err)
	}
	for _, o := range out {
		o.FinalizeAll()
	}
	return nil
}

// activeLevels draws how many levels a step uses under quantizer dropout.
func (t *Trainer) activeLevels(step int) int {
	q := t.config.Quantizer
	if q.Dropout == 0 || q.Levels == 1 {
		return q.Levels
	}
	rng := weights.Rand(t.config.Seed, fmt.Sprintf("dropout %d", step))
	if rng.Float64() >= q.Dropout {
		return q.Levels
	}
	return 1 + rng.IntN(q.Levels)
}

func (t *Trainer) activeMask(levels int) *tensors.Tensor {
	mask := make([]float32, t.config.Quantizer.Levels)
	for l := range levels {
		mask[l] = 1
	}
	return tensors.FromFlatDataAndDimensions(mask, len(mask))
}
