package train

import (
	"maps"
	"slices"

	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// The layout of a step's first output: first the numbers that are complete with
// the last part of a batch, such as the norms of the groups' gradients; then the
// loss and the pass's scalars, averaged over the parts.
const (
	outKept = iota
	outNorm
	outGroups
)

var outLoss = outGroups + len(weights.Groups)

// stepProgram is the name of the program that takes a step.
const stepProgram = "step"

// step builds one optimizer step and returns the new values by path, and the
// reported scalars followed by the outputs of the pass.
//
// A loss or gradient that is not finite skips the step: every parameter, moment
// and average keeps its value.
func (t *Trainer) step(v weights.Vars, pace *Node, inputs []*Node) (next map[string]*Node, outputs []*Node) {
	p := t.ReadPace(pace)
	in := Inputs{Random: inputs[0], Batch: inputs[1:], Progress: p.Progress}
	var pass Pass
	if t.problem.Build != nil {
		pass = t.problem.Build(v, in)
	} else {
		pass.Loss = t.problem.Loss(v, in.Batch, in.Random)
	}
	loss, both := pass.Loss, pass.Loss
	if pass.Assist != nil {
		both = Add(loss, pass.Assist)
	}
	zero := ScalarZero(loss.Graph(), loss.DType())
	trained := slices.Concat(t.parameters, t.assisting)
	gradients := t.bank.Gradients(both, v, trained, slices.Concat(pass.Extra, pass.Watched)...)
	if pass.Measure != nil {
		pass.Scalars = append(pass.Scalars, pass.Measure(gradients[len(trained)+len(pass.Extra):])...)
	}
	gradients = gradients[:len(trained)+len(pass.Extra)]
	next = map[string]*Node{}
	if parts := t.parts(); parts > 1 {
		// The gradients of earlier parts are added; one that is not finite stays so
		// until the step is skipped.
		for i, path := range trained {
			collected := v.Get(partialPrefix + path)
			gradients[i] = Add(collected, MulScalar(gradients[i], 1/float64(parts)))
			next[partialPrefix+path] = Where(GreaterThan(p.apply, zero), ZerosLike(collected), gradients[i])
		}
	}
	own := len(t.parameters)
	assists := gradients[own:len(trained)]
	gradients = slices.Concat(gradients[:own], gradients[len(trained):])

	total, squares := zero, map[weights.Group]*Node{}
	for i, gradient := range gradients {
		square := ReduceAllSum(Square(gradient))
		total = Add(total, square)
		group := weights.Codes
		if i < len(t.parameters) {
			group = t.group(t.parameters[i])
		}
		if sum, ok := squares[group]; ok {
			square = Add(sum, square)
		}
		squares[group] = square
	}
	norm := Sqrt(total)
	finite := And(IsFinite(loss), IsFinite(norm))
	kept := ConvertDType(finite, loss.DType())
	p.Keep, p.Scale = Mul(kept, p.apply), t.clipping(norm, finite, p)
	t.Optimize(v, next, t.parameters, gradients, finite, p)
	if pass.Assist != nil {
		squares[t.group(t.assisting[0])] = t.assist(v, next, assists, And(finite, IsFinite(pass.Assist)), p)
	}
	if pass.Finish != nil {
		step := And(finite, GreaterThan(p.apply, zero))
		pass.Finish(next, Update{Finite: finite, Step: step, Scale: p.Scale, Extra: gradients[len(t.parameters):]})
	}
	t.average(v, next, Mul(p.Keep, p.average))

	report := []*Node{kept, norm}
	for _, g := range weights.Groups {
		if s, ok := squares[g]; ok {
			report = append(report, Sqrt(s))
		} else {
			report = append(report, zero)
		}
	}
	report = append(append(report, loss), pass.Scalars...)
	for i := range report {
		report[i] = Reshape(report[i], 1)
	}
	return next, append([]*Node{Concatenate(report, 0)}, pass.Outputs...)
}

// clipping is the factor that bounds a gradient of a norm.
func (t *Trainer) clipping(norm, finite *Node, p Pace) *Node {
	if t.config.ClipNorm == 0 {
		return OnesLike(norm)
	}
	return Where(finite, Min(OnesLike(norm), Div(p.clip, MaxScalar(norm, 1e-12))), ZerosLike(norm))
}

// assist takes the step of the Assisting variables and returns the squared norm of their gradients.
func (t *Trainer) assist(v weights.Vars, next map[string]*Node, gradients []*Node, finite *Node, p Pace) *Node {
	total := ScalarZero(finite.Graph(), gradients[0].DType())
	for _, gradient := range gradients {
		total = Add(total, ReduceAllSum(Square(gradient)))
	}
	finite = And(finite, IsFinite(total))
	p.Keep, p.Scale = Mul(ConvertDType(finite, total.DType()), p.apply), t.clipping(Sqrt(total), finite, p)
	p.Correction1, p.Correction2 = p.assist1, p.assist2
	t.Optimize(v, next, t.assisting, gradients, finite, p)
	return total
}

// Optimize adds to next the values of parameters, and of the optimizer's state,
// after a step along gradients; without finite gradients all keep their values.
func (t *Trainer) Optimize(v weights.Vars, next map[string]*Node, parameters []string, gradients []*Node, finite *Node, p Pace) {
	for i, path := range parameters {
		safe := Where(finite, gradients[i], ZerosLike(gradients[i]))
		maps.Copy(next, t.config.Optimizer.Update(v, path, safe, p.Pace))
	}
}

// average moves the averages towards the variables by a share, including variables
// that only change between steps.
func (t *Trainer) average(v weights.Vars, next map[string]*Node, share *Node) {
	for _, path := range t.averaged {
		value, ok := next[path]
		if !ok {
			value = v.Get(path)
		}
		shadow := AveragePrefix + path
		next[shadow] = Add(Mul(v.Get(shadow), OneMinus(share)), Mul(value, share))
	}
}

// Pace holds the scalars that change from step to step.
type Pace struct {
	optim.Pace
	Progress *Node // share of the steps that were taken
	clip     *Node // bound on the gradient's norm
	average  *Node // share of new values in the weight average
	apply    *Node // 0 while parts of a batch are collected

	assist1, assist2 *Node // corrections of Assisting variables
}

// ReadPace takes the scalar input of a step apart. The caller sets Keep and Scale.
func (t *Trainer) ReadPace(x *Node) Pace {
	at := func(i int) *Node { return Reshape(Slice(x, AxisRange(i, i+1))) }
	p := Pace{Progress: at(paceProgress), clip: at(paceClip), average: at(paceAverage), apply: at(paceApply),
		assist1: at(paceAssist1), assist2: at(paceAssist2)}
	p.Pace = optim.Pace{Correction1: at(paceCorrection1), Correction2: at(paceCorrection2), Rate: map[weights.Group]*Node{}, Group: t.group,
		Decay: t.problem.Decay, Stride: t.problem.Stride}
	for i, g := range weights.Groups {
		p.Rate[g] = at(paceInputs + i)
	}
	return p
}
