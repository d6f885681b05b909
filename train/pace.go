package train

import (
	"math"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

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
// parameters.
func (t *Trainer) Pace(updates int) *tensors.Tensor { return t.pace(updates, true) }

// pace is Pace; apply is false while parts of a batch are collected.
func (t *Trainer) pace(updates int, apply bool) *tensors.Tensor {
	o, taken, rate := t.config.Optimizer, float64(updates), t.rate()
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
		multiple := 1.0
		if t.problem.Rate != nil {
			multiple = t.problem.Rate(g)
		}
		values = append(values, float32(rate*multiple))
	}
	return tensors.FromFlatDataAndDimensions(values, len(values))
}

// ReadPace takes the scalar input of a step apart. Keep and Scale are left to the
// caller.
func (t *Trainer) ReadPace(x *Node) (p Pace) {
	at := func(i int) *Node { return Reshape(Slice(x, AxisRange(i, i+1))) }
	p = Pace{Progress: at(paceProgress), clip: at(paceClip), average: at(paceAverage), apply: at(paceApply)}
	p.Correction1, p.Correction2, p.Rate = at(paceCorrection1), at(paceCorrection2), map[weights.Group]*Node{}
	for i, g := range weights.Groups {
		p.Rate[g] = at(paceInputs + i)
	}
	p.Decay, p.Stride = t.problem.Decay, t.problem.Stride
	return p
}
