// Package optim turns gradients into steps, as graph code: update rules,
// parameter groups and learning-rate schedules.
package optim

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// rules holds every update rule. Each lives in a file of its own.
var rules = []rule{adam, adamw, adagrad, sgd}

// rule is a way to turn gradients into steps.
type rule struct {
	name string
	// slots lists the state that is kept beside each parameter.
	slots func(o Optimizer) []Slot
	// update returns the new value of a parameter and of its state, by slot.
	update    func(o Optimizer, s step) (value *Node, state []*Node)
	decoupled bool // update applies the weight decay; otherwise the decay joins the gradient
	divides   bool // update divides by a root that epsilon keeps from zero
}

// step is the input of one update of one parameter.
type step struct {
	Pace
	value, gradient *Node
	state           []*Node // by slot
	rate            *Node   // of this parameter; 0 for a skipped step
	decay           float64 // of decoupled rules
}

// Slot is state that an optimizer keeps for every parameter.
type Slot struct {
	Prefix string  // the state of parameter p has the path Prefix + p
	Start  float32 // initial value
}

const (
	// Prefix begins the paths of all optimizer state.
	Prefix = "optimizer/"

	firstMoment  = Prefix + "first/"  // mean gradient (Adam) or velocity (SGD)
	secondMoment = Prefix + "second/" // squared gradient (Adam, Adagrad)
)

// Optimizer names the update rule.
type Optimizer struct {
	Name        string  `yaml:"name" doc:"Update rule."`
	Rate        float64 `yaml:"rate" doc:"Learning rate of the network."`
	Beta1       float64 `yaml:"beta1" doc:"Adam: decay of the mean gradient."`
	Beta2       float64 `yaml:"beta2" doc:"Adam: decay of the mean squared gradient."`
	Epsilon     float64 `yaml:"epsilon" doc:"Added to the denominator."`
	Momentum    float64 `yaml:"momentum" doc:"SGD."`
	WeightDecay float64 `yaml:"weight_decay" doc:"Decay of the network's weights (decoupled for adamw, added to the gradient otherwise)."`
	Accumulator float64 `yaml:"accumulator" doc:"Adagrad: initial squared gradient."`
}

// Enums lists the update rules for configuration files.
func (Optimizer) Enums() map[string][]string { return map[string][]string{"name": Names()} }

// ObsoleteKeys lists keys of earlier versions: only tokenizers have a mixer.
func (Optimizer) ObsoleteKeys() []string { return []string{"mixer_decay"} }

// Names lists the update rules.
func Names() (names []string) {
	for _, r := range rules {
		names = append(names, r.name)
	}
	return names
}

// Validate reports the first setting that cannot work.
func (o Optimizer) Validate() error {
	switch {
	case !slices.Contains(Names(), o.Name):
		return fmt.Errorf("optimizer.name: unknown optimizer %q, use one of %s", o.Name, strings.Join(Names(), ", "))
	case !(o.Rate > 0) || math.IsInf(o.Rate, 0):
		return fmt.Errorf("optimizer.rate: %g must be positive", o.Rate)
	case o.Beta1 < 0 || o.Beta1 >= 1 || o.Beta2 < 0 || o.Beta2 >= 1 || o.Momentum < 0 || o.Momentum >= 1:
		return fmt.Errorf("optimizer: beta1, beta2 and momentum must be at least 0 and below 1")
	case o.Epsilon < 0 || o.Epsilon == 0 && o.rule().divides:
		return fmt.Errorf("optimizer.epsilon: %g must be positive, or parameters without a gradient divide by zero", o.Epsilon)
	}
	return nil
}

// rule returns the update rule of a valid optimizer.
func (o Optimizer) rule() rule { return rules[slices.Index(Names(), o.Name)] }

// Slots lists the state of the update rule.
func (o Optimizer) Slots() []Slot { return o.rule().slots(o) }

// Init returns the state for the given parameters.
func (o Optimizer) Init(parameters weights.Set) weights.Set {
	set := weights.Set{}
	for _, slot := range o.Slots() {
		for p, a := range parameters {
			set[slot.Prefix+p] = weights.Full(slot.Start, a.Shape...)
		}
	}
	return set
}

// Pace holds the scalars that change from step to step. A skipped step
// has Keep = 0, and then every update returns its input exactly.
type Pace struct {
	Keep        *Node                   // 1, or 0 to skip
	Scale       *Node                   // of the gradient, for clipping
	Rate        map[weights.Group]*Node // learning rates
	Correction1 *Node                   // 1 - β₁^t
	Correction2 *Node                   // 1 - β₂^t
	// Decay is the weight decay of groups other than the network. Codes, feature
	// maps and radius scalars have none, because shrinking them moves codes away
	// from their latents.
	Decay map[weights.Group]float64
	// Group is the group of a parameter; nil means weights.GroupOf for all.
	Group func(path string) weights.Group
	// Stride is a parameter's share of its group's rate; nil means 1 for all.
	Stride func(path string, dims []int) float64
}

// Update returns the new value of a parameter and of its state, by path. The
// gradient must be finite. Clipping and skipping are folded into the scalar
// coefficients, so that no extra pass over the parameters is needed.
func (o Optimizer) Update(v weights.Vars, path string, gradient *Node, p Pace) map[string]*Node {
	r, group := o.rule(), weights.GroupOf(path)
	if p.Group != nil {
		group = p.Group(path)
	}
	s := step{Pace: p, value: v.Get(path), gradient: gradient, rate: Mul(p.Rate[group], p.Keep), decay: p.Decay[group]}
	if group == weights.Network || group == weights.Encoder {
		s.decay = o.WeightDecay
	}
	if p.Stride != nil {
		s.rate = MulScalar(s.rate, p.Stride(path, s.value.Shape().Dimensions))
	}
	if s.decay > 0 && !r.decoupled {
		// Added before scaling: decay joins the gradient unclipped.
		s.gradient = Add(Mul(gradient, p.Scale), MulScalar(s.value, s.decay))
		s.Scale, s.decay = OnesLike(p.Scale), 0
	}
	for _, slot := range o.Slots() {
		s.state = append(s.state, v.Get(slot.Prefix+path))
	}
	value, state := r.update(o, s)
	next := map[string]*Node{path: value}
	for i, slot := range o.Slots() {
		next[slot.Prefix+path] = state[i]
	}
	return next
}

// forget is decay when the step is kept and 1 when it is skipped.
func (p Pace) forget(decay float64) *Node { return AddScalar(MulScalar(p.Keep, decay-1), 1) }
