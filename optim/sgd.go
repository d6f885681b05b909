package optim

import . "github.com/gomlx/gomlx/core/graph"

// sgd is stochastic gradient descent; with momentum it keeps a velocity
// u <- momentum u + g.
var sgd = rule{
	name: "sgd",
	slots: func(o Optimizer) []Slot {
		if o.Momentum > 0 {
			return []Slot{{Prefix: firstMoment}}
		}
		return nil
	},
	update: func(o Optimizer, s step) (*Node, []*Node) {
		if len(s.state) == 0 {
			return Sub(s.value, Mul(s.gradient, Mul(s.rate, s.Scale))), nil
		}
		velocity := Add(Mul(s.state[0], s.forget(o.Momentum)), Mul(s.gradient, Mul(s.Keep, s.Scale)))
		return Sub(s.value, Mul(velocity, s.rate)), []*Node{velocity}
	},
}
