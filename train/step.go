package train

import (
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// The layout of a step's first output: what is known with the last part of a
// batch, then the norms of the groups' gradients, then the loss and the pass's
// scalars, which are averaged over the parts.
const (
	outKept = iota
	outNorm
	outGroups
)

// step builds one optimizer step and returns the new values by path, the reported
// scalars and the outputs of the pass.
//
// A loss or gradient that is not finite skips the step: every parameter, moment
// and average keeps its value.
func (t *Trainer) step(v weights.Vars, scalars *Node, in Inputs) (next map[string]*Node, outputs []*Node) {
	p := t.ReadPace(scalars)
	in.Progress = p.Progress
	pass := t.build(v, in)
	loss := pass.Loss
	zero := ScalarZero(loss.Graph(), loss.DType())
	gradients := t.bank.Gradients(loss, v, t.parameters, pass.Extra...)
	next = map[string]*Node{}
	if t.parts() > 1 {
		// The gradients of earlier parts are added; one that is not finite stays so
		// until the step is skipped.
		for i, path := range t.parameters {
			collected := v.Get(partialPrefix + "/" + path)
			gradients[i] = Add(collected, MulScalar(gradients[i], 1/float64(t.parts())))
			next[partialPrefix+"/"+path] = Where(GreaterThan(p.apply, zero), ZerosLike(collected), gradients[i])
		}
	}

	squares := map[weights.Group]*Node{}
	total := zero
	for i, gradient := range gradients {
		square := ReduceAllSum(Square(gradient))
		total = Add(total, square)
		group := weights.Codes
		if i < len(t.parameters) {
			group = weights.GroupOf(t.parameters[i])
		}
		if sum, ok := squares[group]; ok {
			square = Add(sum, square)
		}
		squares[group] = square
	}
	gradients, extra := gradients[:len(t.parameters)], gradients[len(t.parameters):]
	norm := Sqrt(total)
	finite := And(IsFinite(loss), IsFinite(norm))
	kept := ConvertDType(finite, loss.DType())
	p.Keep, p.Scale = Mul(kept, p.apply), OnesLike(norm)
	if t.config.ClipNorm > 0 {
		p.Scale = Where(finite, Min(OnesLike(norm), Div(p.clip, MaxScalar(norm, 1e-12))), ZerosLike(norm))
	}
	t.Optimize(v, next, t.parameters, gradients, finite, p)
	if pass.Finish != nil {
		pass.Finish(next, Update{Finite: finite, Step: And(finite, GreaterThan(p.apply, zero)), Scale: p.Scale, Extra: extra})
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

// build runs a batch through the model.
func (t *Trainer) build(v weights.Vars, in Inputs) Pass {
	if t.problem.Build != nil {
		return t.problem.Build(v, in)
	}
	return Pass{Loss: t.problem.Loss(v, in.Batch, in.Random)}
}

// Optimize adds to next the values of parameters, and of the optimizer's state,
// after a step along gradients; where those are not finite all keep their values.
func (t *Trainer) Optimize(v weights.Vars, next map[string]*Node, parameters []string, gradients []*Node, finite *Node, p Pace) {
	for i, path := range parameters {
		safe := Where(finite, gradients[i], ZerosLike(gradients[i]))
		for updated, value := range t.config.Optimizer.Update(v, path, safe, p.Pace) {
			next[updated] = value
		}
	}
}

// average moves the averages towards the variables by a share. Variables that did
// not change in this step count as well: those that the problem changes between
// steps.
func (t *Trainer) average(v weights.Vars, next map[string]*Node, share *Node) {
	for _, path := range t.averaged {
		value, ok := next[path]
		if !ok {
			value = v.Get(path)
		}
		shadow := AveragePrefix + "/" + path
		next[shadow] = Add(Mul(v.Get(shadow), OneMinus(share)), Mul(value, share))
	}
}
