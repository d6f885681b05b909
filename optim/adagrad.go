package optim

import . "github.com/gomlx/gomlx/core/graph"

// adagrad (Duchi, Hazan and Singer, 2011): G <- G + g², and the parameter moves by
// rate g / (√G + ε).
var adagrad = rule{
	name:    "adagrad",
	divides: true,
	slots:   func(o Optimizer) []Slot { return []Slot{{Prefix: secondMoment, Start: float32(o.Accumulator)}} },
	update: func(o Optimizer, s step) (*Node, []*Node) {
		second := Add(s.state[0], Mul(Square(s.gradient), Mul(s.Keep, Square(s.Scale))))
		change := Mul(Div(s.gradient, AddScalar(Sqrt(second), o.Epsilon)), Mul(s.rate, s.Scale))
		return Sub(s.value, change), []*Node{second}
	},
}
