// Package optim turns gradients into steps, as graph code: update rules,
// parameter groups and learning-rate schedules.
package optim

import (
	"fmt"
	"math"
	"slices"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// Optimizer names the update rule.
type Optimizer struct {
	Name        string  `yaml:"name" enum:"adam|adamw|adagrad|sgd" doc:"Update rule."`
	Rate        float64 `yaml:"rate" doc:"Learning rate of the network."`
	Beta1       float64 `yaml:"beta1" doc:"Adam: decay of the mean gradient."`
	Beta2       float64 `yaml:"beta2" doc:"Adam: decay of the mean squared gradient."`
	Epsilon     float64 `yaml:"epsilon" doc:"Added to the denominator."`
	Momentum    float64 `yaml:"momentum" doc:"SGD."`
	WeightDecay float64 `yaml:"weight_decay" doc:"Decay of the network's weights (decoupled for adamw, added to the gradient otherwise)."`
	MixerDecay  float64 `yaml:"mixer_decay" doc:"The same for the mixer M."`
	Accumulator float64 `yaml:"accumulator" doc:"Adagrad: initial squared gradient."`
}

// Validate reports the first setting that cannot work.
func (o Optimizer) Validate() error {
	if !slices.Contains([]string{"adam", "adamw", "adagrad", "sgd"}, o.Name) {
		return fmt.Errorf("optimizer.name: unknown optimizer %q, use adam, adamw, adagrad or sgd", o.Name)
	}
	if !(o.Rate > 0) || math.IsInf(o.Rate, 0) {
		return fmt.Errorf("optimizer.rate: %g must be positive", o.Rate)
	}
	if o.Beta1 < 0 || o.Beta1 >= 1 || o.Beta2 < 0 || o.Beta2 >= 1 || o.Momentum < 0 || o.Momentum >= 1 {
		return fmt.Errorf("optimizer: beta1, beta2 and momentum must be at least 0 and below 1")
	}
	if o.Epsilon < 0 || (o.Epsilon == 0 && o.Name != "sgd") {
		return fmt.Errorf("optimizer.epsilon: %g must be positive, or parameters without a gradient divide by zero", o.Epsilon)
	}
	return nil
}

// Optimizer state lives beside the model: "optimizer/first/<path>" is the mean
// gradient (Adam) or velocity (SGD), "optimizer/second/<path>" the squared
// gradient (Adam, Adagrad).
const (
	firstMoment  = "optimizer/first"
	secondMoment = "optimizer/second"
)

// Slots lists which state an optimizer keeps.
func (o Optimizer) Slots() []string {
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

// Init returns the state for the given parameters.
func (o Optimizer) Init(parameters weights.Set) weights.Set {
	set := weights.Set{}
	for _, slot := range o.Slots() {
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
		return o.WeightDecay
	case weights.Mixer:
		return o.MixerDecay
	}
	return 0
}

// Pace is what changes from step to step; all scalars. A skipped step has
// keep = 0, and then every update below returns its input exactly.
type Pace struct {
	Keep        *Node                   // 1, or 0 to skip
	Scale       *Node                   // of the gradient, for clipping
	Rate        map[weights.Group]*Node // learning rates
	Correction1 *Node                   // 1 - β₁^t
	Correction2 *Node                   // 1 - β₂^t
	// Stride is a parameter's share of its group's rate; nil means 1 for all.
	Stride func(path string) float64
}

// Update returns the new value of a parameter and of its state, by path. The
// gradient must be finite. Clipping and skipping are folded into the scalar
// coefficients, so that no extra pass over the parameters is needed.
func (o Optimizer) Update(v weights.Vars, path string, gradient *Node, p Pace) map[string]*Node {
	group := weights.GroupOf(path)
	value := v.Get(path)
	rate := Mul(p.Rate[group], p.Keep)
	if p.Stride != nil {
		rate = MulScalar(rate, p.Stride(path))
	}
	if decay := o.decay(group); decay > 0 && o.Name != "adamw" {
		// Added before scaling: decay joins the gradient unclipped.
		gradient = Add(Mul(gradient, p.Scale), MulScalar(value, decay))
		p.Scale = OnesLike(p.Scale)
	}
	next := map[string]*Node{}
	switch o.Name {
	case "adam", "adamw":
		first, second := v.Get(firstMoment+"/"+path), v.Get(secondMoment+"/"+path)
		first = Add(Mul(first, o.mix(p, o.Beta1)), Mul(gradient, Mul(p.Keep, MulScalar(p.Scale, 1-o.Beta1))))
		second = Add(Mul(second, o.mix(p, o.Beta2)), Mul(Square(gradient), Mul(p.Keep, MulScalar(Square(p.Scale), 1-o.Beta2))))
		step := Div(rate, p.Correction1)
		root := AddScalar(Sqrt(Div(second, p.Correction2)), o.Epsilon)
		change := Mul(Div(first, root), step)
		if decay := o.decay(group); decay > 0 && o.Name == "adamw" {
			change = Add(change, Mul(value, MulScalar(rate, decay)))
		}
		next[firstMoment+"/"+path], next[secondMoment+"/"+path] = first, second
		next[path] = Sub(value, change)
	case "adagrad":
		second := v.Get(secondMoment + "/" + path)
		second = Add(second, Mul(Square(gradient), Mul(p.Keep, Square(p.Scale))))
		next[secondMoment+"/"+path] = second
		next[path] = Sub(value, Mul(Div(gradient, AddScalar(Sqrt(second), o.Epsilon)), Mul(rate, p.Scale)))
	case "sgd":
		if o.Momentum > 0 {
			velocity := v.Get(firstMoment + "/" + path)
			velocity = Add(Mul(velocity, o.mix(p, o.Momentum)), Mul(gradient, Mul(p.Keep, p.Scale)))
			next[firstMoment+"/"+path] = velocity
			next[path] = Sub(value, Mul(velocity, rate))
			break
		}
		next[path] = Sub(value, Mul(gradient, Mul(rate, p.Scale)))
	default:
		panic(fmt.Errorf("unknown optimizer %q", o.Name))
	}
	return next
}

// mix is decay when the step is kept and 1 when it is skipped.
func (o Optimizer) mix(p Pace, decay float64) *Node {
	return AddScalar(MulScalar(p.Keep, decay-1), 1)
}
