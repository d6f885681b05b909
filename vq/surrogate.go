package vq

import . "github.com/gomlx/gomlx/core/graph"

// Surrogate is a place where gradients cross a hard assignment.
type Surrogate struct {
	Value *Node // z_q [N,d]; g is the gradient that arrives here
	Gap   *Node // ẑ - z [N,d]
	K     *Node // [N] the share of <g, s> that the code receives; nil if the method has none
	Mask  *Node // [N] of the rows in use; nil means all
}

// PullScalars is the number of scalars of [Pulls].
const PullScalars = 3

// Pulls tells how gradients g, one of each surrogate, move the gaps δ = |ẑ - z|. With
// s = (ẑ - z)/δ and a = <g, s>, a gradient step of rate η changes the gap of a token by
//
//	+η(1-k)a   if the encoder alone moves,
//	+η(1-2k)a  if its code moves at the same rate,
//
// so that for a > 0 the encoder closes the gap only where k > 1, and both together where
// k > ½. (The paper has the opposite sign.) The scalars are the share of tokens with
// a ≥ 0, and the two changes, summed over tokens, as multiples of -Σ|a|: above 0 the gaps
// close. Tokens that lie on their codes have no direction and are left out.
func Pulls(list []Surrogate, gradients []*Node) []*Node {
	var tokens, along, size, encoder, both *Node
	for i, s := range list {
		g := ConvertDType(gradients[i], s.Gap.DType())
		direction, _, apart := direction(s.Gap)
		counted := ConvertDType(Squeeze(apart, -1), g.DType())
		if s.Mask != nil {
			counted = Mul(counted, ConvertDType(s.Mask, g.DType()))
		}
		a := Mul(ReduceSum(Mul(g, direction), -1), counted) // [N]
		k := ZerosLike(a)
		if s.K != nil {
			k = s.K
		}
		ahead := ConvertDType(GreaterOrEqual(a, ZerosLike(a)), g.DType())
		tokens, along = plus(tokens, ReduceAllSum(counted)), plus(along, ReduceAllSum(Mul(ahead, counted)))
		size = plus(size, ReduceAllSum(Abs(a)))
		encoder = plus(encoder, ReduceAllSum(Mul(AddScalar(k, -1), a)))
		both = plus(both, ReduceAllSum(Mul(AddScalar(MulScalar(k, 2), -1), a)))
	}
	size = MaxScalar(size, 1e-30)
	return []*Node{Div(along, MaxScalar(tokens, 1)), Div(encoder, size), Div(both, size)}
}
