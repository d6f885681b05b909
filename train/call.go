package train

import (
	"fmt"
	"math"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/weights"
)

// call runs the parts of a step one after another and returns its scalars and the
// outputs of all parts.
func (t *Trainer) call(kind string, inputs []*tensors.Tensor) (report []float32, outputs []*tensors.Tensor, err error) {
	if t.exec == nil {
		if err := t.compile(kind); err != nil {
			return nil, nil, err
		}
	}
	parts := t.parts()
	size := len(inputs) / parts
	for i := range parts {
		part, out, err := t.callPart(i, inputs[i*size:(i+1)*size])
		outputs = append(outputs, out...)
		if err != nil {
			finalize(outputs)
			return nil, nil, err
		}
		if report == nil {
			report = make([]float32, len(part))
		}
		copy(report[:outLoss], part) // complete with the last part
		for j := outLoss; j < len(part); j++ {
			report[j] += part[j] / float32(parts)
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
	pace := t.Pace(t.Updates()+1, part == t.parts()-1)
	defer finalize([]*tensors.Tensor{pace, random})
	args := []any{pace, random}
	for _, x := range inputs {
		args = append(args, x)
	}
	out, err := t.exec.Call(args...)
	if err != nil {
		return nil, nil, err
	}
	defer out[0].FinalizeAll()
	report, err = tensors.CopyFlatData[float32](out[0])
	return report, out[1:], err
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

// The layout of a step's scalar input; a rate for every group follows.
const (
	paceCorrection1 = iota
	paceCorrection2
	paceProgress
	paceClip
	paceAverage
	paceApply
	paceInputs
)

// rate is the learning rate of the next step.
func (t *Trainer) rate() float64 {
	return t.config.Optimizer.Rate * t.config.Schedule.At(t.state.Step, t.config.Steps)
}

// Pace returns the scalar input of an optimizer step, the updates-th of its
// parameters; apply is false while parts of a batch are collected.
func (t *Trainer) Pace(updates int, apply bool) *tensors.Tensor {
	o, taken := t.config.Optimizer, float64(updates)
	values := make([]float32, paceInputs, paceInputs+len(weights.Groups))
	values[paceCorrection1], values[paceCorrection2] = float32(1-math.Pow(o.Beta1, taken)), float32(1-math.Pow(o.Beta2, taken))
	values[paceProgress] = float32(float64(t.state.Step) / float64(t.config.Steps))
	values[paceClip] = float32(t.config.ClipNorm)
	// The average forgets its start at first, so that short runs do not drag
	// their initial weights along.
	values[paceAverage] = float32(1 - min(t.config.Average, (1+taken)/(10+taken)))
	if apply {
		values[paceApply] = 1
	}
	for _, g := range weights.Groups {
		rate := t.rate()
		if t.problem.Rate != nil {
			rate *= t.problem.Rate(g)
		}
		values = append(values, float32(rate))
	}
	return tensors.FromFlatDataAndDimensions(values, len(values))
}
