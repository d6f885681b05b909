package train

import (
	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// The layout of a step's scalar input.
const (
	paceCorrection1 = iota
	paceCorrection2
	paceRate
	paceClip
	paceAverage
	paceInputs
)

// The layout of a step's output.
const (
	outLoss = iota
	outNorm
	outKept
)

// step builds one optimizer step and returns the new values by path and the
// reported scalars [3]. A loss or gradient that is not finite changes nothing.
func (t *trainer) step(v weights.Vars, inputs []*Node, scalars, random *Node) (next map[string]*Node, report *Node) {
	at := func(i int) *Node { return Reshape(Slice(scalars, AxisRange(i, i+1))) }
	loss := t.problem.Loss(v, inputs, random)
	gradients := t.bank.Gradients(loss, v, t.parameters)
	total := ScalarZero(loss.Graph(), loss.DType())
	for _, g := range gradients {
		total = Add(total, ReduceAllSum(Square(g)))
	}
	norm := Sqrt(total)
	finite := And(IsFinite(loss), IsFinite(norm))
	kept := ConvertDType(finite, loss.DType())
	p := optim.Pace{Keep: kept, Scale: OnesLike(norm), Correction1: at(paceCorrection1), Correction2: at(paceCorrection2), Rate: map[weights.Group]*Node{}}
	for _, g := range weights.Groups {
		p.Rate[g] = at(paceRate)
	}
	if t.config.ClipNorm > 0 {
		p.Scale = Where(finite, Min(OnesLike(norm), Div(at(paceClip), MaxScalar(norm, 1e-12))), ZerosLike(norm))
	}
	next = map[string]*Node{}
	for i, path := range t.parameters {
		safe := Where(finite, gradients[i], ZerosLike(gradients[i]))
		for updated, value := range t.config.Optimizer.Update(v, path, safe, p) {
			next[updated] = value
		}
		if t.config.Average > 0 {
			shadow, share := averagePrefix+"/"+path, Mul(kept, at(paceAverage))
			next[shadow] = Add(Mul(v.Get(shadow), OneMinus(share)), Mul(next[path], share))
		}
	}
	return next, Concatenate([]*Node{Reshape(loss, 1), Reshape(norm, 1), Reshape(kept, 1)}, 0)
}
