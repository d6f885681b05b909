package fit

import (
	"fmt"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// Optimizer state lives beside the model: "optimizer/first/<path>" is the mean
// gradient (Adam) or velocity (SGD), "optimizer/second/<path>" the squared
// gradient (Adam, Adagrad).
const (
	firstMoment  = "optimizer/first"
	secondMoment = "optimizer/second"
)

// slots lists which state an optimizer keeps.
func (o Optimizer) slots() []string {
	switch o.Name {
	case "adam", "adamw":
		return []string{firstMoment, secondMoment}
	case "adagrad":
		return []string{secondMoment}
	}
	if o.Momentum > 0 {
		return []string{firstMoment}
	}
	return nil
}

// init returns the state for the given parameters.
func (o Optimizer) init(parameters weights.Set) weights.Set {
	set := weights.Set{}
	for _, slot := range o.slots() {
		start := float32(0)
		if o.Name == "adagrad" {
			start = float32(o.Accumulator)
		}
		for p, a := range parameters {
			set[slot+"/"+p] = weights.Full(start, a.Shape...)
		}
	}
	return set
}

// decay is the weight decay of a group: codes, W and radius scalars have none,
// because shrinking them moves codes away from their latents.
func (o Optimizer) decay(g weights.Group) float64 {
	switch g {
	case weights.Network:
		return o.Decay
	case weights.Mixer:
		return o.MixerDecay
	}
	return 0
}

// pace is what changes from step to step; all scalars. A skipped step has
// keep = 0, and then every update below returns its input exactly.
type pace struct {
	keep        *Node                   // 1, or 0 to skip
	scale       *Node                   // of the gradient, for clipping
	rate        map[weights.Group]*Node // learning rates
	correction1 *Node                   // 1 - β₁^t
	correction2 *Node                   // 1 - β₂^t
	clip        *Node                   // bound on the gradient's norm
	average     *Node                   // share of new values in the weight average
	apply       *Node                   // 0 while parts of a batch are collected
	// stride is a parameter's share of its group's rate; nil means 1 for all.
	stride func(path string) float64
}

// update returns the new value of a parameter and of its state, by path. The
// gradient must be finite. Clipping and skipping are folded into the scalar
// coefficients, so that no extra pass over the parameters is needed.
func (o Optimizer) update(v weights.Vars, path string, gradient *Node, p pace) map[string]*Node {
	group := weights.GroupOf(path)
	value := v.Get(path)
	rate := Mul(p.rate[group], p.keep)
	if p.stride != nil {
		rate = MulScalar(rate, p.stride(path))
	}
	if decay := o.decay(group); decay > 0 && o.Name != "adamw" {
		// Added before scaling: decay joins the gradient unclipped.
		gradient = Add(Mul(gradient, p.scale), MulScalar(value, decay))
		p.scale = OnesLike(p.scale)
	}
	next := map[string]*Node{}
	switch o.Name {
	case "adam", "adamw":
		first, second := v.Get(firstMoment+"/"+path), v.Get(secondMoment+"/"+path)
		first = Add(Mul(first, o.mix(p, o.Beta1)), Mul(gradient, Mul(p.keep, MulScalar(p.scale, 1-o.Beta1))))
		second = Add(Mul(second, o.mix(p, o.Beta2)), Mul(Square(gradient), Mul(p.keep, MulScalar(Square(p.scale), 1-o.Beta2))))
		step := Div(rate, p.correction1)
		root := AddScalar(Sqrt(Div(second, p.correction2)), o.Epsilon)
		change := Mul(Div(first, root), step)
		if decay := o.decay(group); decay > 0 && o.Name == "adamw" {
			change = Add(change, Mul(value, MulScalar(rate, decay)))
		}
		next[firstMoment+"/"+path], next[secondMoment+"/"+path] = first, second
		next[path] = Sub(value, change)
	case "adagrad":
		second := v.Get(secondMoment + "/" + path)
		second = Add(second, Mul(Square(gradient), Mul(p.keep, Square(p.scale))))
		next[secondMoment+"/"+path] = second
		next[path] = Sub(value, Mul(Div(gradient, AddScalar(Sqrt(second), o.Epsilon)), Mul(rate, p.scale)))
	case "sgd":
		if o.Momentum > 0 {
			velocity := v.Get(firstMoment + "/" + path)
			velocity = Add(Mul(velocity, o.mix(p, o.Momentum)), Mul(gradient, Mul(p.keep, p.scale)))
			next[firstMoment+"/"+path] = velocity
			next[path] = Sub(value, Mul(velocity, rate))
			break
		}
		next[path] = Sub(value, Mul(gradient, Mul(rate, p.scale)))
	default:
		panic(fmt.Errorf("unknown optimizer %q", o.Name))
	}
	return next
}

// mix is decay when the step is kept and 1 when it is skipped.
func (o Optimizer) mix(p pace, decay float64) *Node {
	return AddScalar(MulScalar(p.keep, decay-1), 1)
}
