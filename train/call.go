package train

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/internal/program"
	"github.com/gritvq/gritvq/weights"
)

// Program is graph code over the run's variables: it returns their new values by
// path, which may be none, and outputs.
type Program func(v weights.Vars, pace *graph.Node, inputs []*graph.Node) (next map[string]*graph.Node, outputs []*graph.Node)

// Call runs a program, which is compiled once for every name until the model gets
// other variables. It releases the pace. Before a step is counted, building its graph ends with the context.
func (t *Trainer) Call(name string, pace *tensors.Tensor, inputs []*tensors.Tensor, p Program) ([]*tensors.Tensor, error) {
	if t.programs[name] == nil {
		exec, err := model.NewExec(t.backend, t.bank.Store(), func(_ *model.Scope, in []*graph.Node) []*graph.Node {
			next, outputs := p(t.bank.Vars(in[0].Graph()).Until(t.within), in[0], in[1:])
			t.bank.Assign(next)
			return program.Planned("the program \""+name+"\" of training", in, outputs, next)
		})
		if err != nil {
			return nil, err
		}
		t.programs[name] = exec
	}
	defer pace.FinalizeAll()
	args := []any{pace}
	for _, x := range inputs {
		args = append(args, x)
	}
	return t.programs[name].Call(args...)
}

// call runs the parts of a step one after another and returns its scalars and the
// outputs of all parts.
func (t *Trainer) call(kind string, inputs, more []*tensors.Tensor) (report []float32, outputs []*tensors.Tensor, err error) {
	if t.programs[stepProgram] == nil && weights.Compiles(t.backend) {
		t.Status("compiling the " + kind + " step") // as XLA does for up to a minute
	}
	parts := t.parts()
	of := func(i int, list []*tensors.Tensor) []*tensors.Tensor {
		return list[i*len(list)/parts : (i+1)*len(list)/parts]
	}
	for i := range parts {
		part, out, err := t.callPart(i, slices.Concat(of(i, inputs), of(i, more)))
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
	defer random.FinalizeAll()
	out, err := t.Call(stepProgram, t.Pace(t.Updates()+1, part == t.parts()-1), append([]*tensors.Tensor{random}, inputs...), t.step)
	if err != nil {
		return nil, nil, err
	}
	defer out[0].FinalizeAll()
	report, err = tensors.CopyFlatData[float32](out[0])
	return report, out[1:], err
}

// The layout of a step's scalar input; a rate for every group follows.
const (
	paceCorrection1 = iota
	paceCorrection2
	paceProgress
	paceClip
	paceAverage
	paceApply
	paceAssist1 // corrections of Assisting variables
	paceAssist2
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
	corrections := func(taken float64) (float32, float32) {
		return float32(1 - math.Pow(o.Beta1, taken)), float32(1 - math.Pow(o.Beta2, taken))
	}
	values[paceCorrection1], values[paceCorrection2] = corrections(taken)
	values[paceAssist1], values[paceAssist2] = corrections(float64(t.state.Step - t.state.Assisted + 1))
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
