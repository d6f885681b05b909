package optim

import . "github.com/gomlx/gomlx/core/graph"

// Adam (Kingma and Ba, 2015), and AdamW with decoupled weight decay (Loshchilov
// and Hutter, 2019).
var (
	adam  = rule{name: "adam", slots: adamSlots, update: adamUpdate, divides: true}
	adamw = rule{name: "adamw", slots: adamSlots, update: adamUpdate, divides: true, decoupled: true}
)

func adamSlots(Optimizer) []Slot { return []Slot{{Prefix: firstMoment}, {Prefix: secondMoment}} }

// adamUpdate: m <- β₁m + (1-β₁)g, v <- β₂v + (1-β₂)g², and the parameter moves by
// rate (m / (1-β₁^t)) / (√(v / (1-β₂^t)) + ε).
func adamUpdate(o Optimizer, s step) (*Node, []*Node) {
	first, second := s.state[0], s.state[1]
	first = Add(Mul(first, s.forget(o.Beta1)), Mul(s.gradient, Mul(s.Keep, MulScalar(s.Scale, 1-o.Beta1))))
	second = Add(Mul(second, s.forget(o.Beta2)), Mul(Square(s.gradient), Mul(s.Keep, MulScalar(Square(s.Scale), 1-o.Beta2))))
	length := Div(s.rate, s.Correction1)
	root := AddScalar(Sqrt(Div(second, s.Correction2)), o.Epsilon)
	change := Mul(Div(first, root), length)
	if s.decay > 0 {
		change = Add(change, Mul(s.value, MulScalar(s.rate, s.decay)))
	}
	return Sub(s.value, change), []*Node{first, second}
}
