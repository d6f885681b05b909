package vq

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// Rotation is VQ-VAE's quantizer with the rotation trick: gradients reach
// the encoder turned and scaled as the latent is on its way to its code. With
// u = z/|z|, q = ẑ/|ẑ| and w = (u+q)/|u+q|,
//
//	z_q = sg[|ẑ|/|z| · (I - 2wwᵀ + 2quᵀ)] z,
//
// and codes learn by the codebook loss. The commitment loss has full weight: the
// rotation preserves angles, not distances, and at a quarter of it latents can
// drift away from their codes.
var Rotation = Method{
	Name: "rotation", Title: "rotation trick",
	Summary:   "VQ-VAE whose gradients are rotated from code to latent (rotation trick)",
	Defaults:  func(c *Config, _ *Rates) { c.Loss.Codebook, c.Loss.Commitment = 1, 1 },
	Estimator: func(Config) Estimator { return rotated{} },
}

// antipodal is |u+q|² below which w is mostly rounding error: latent and code
// point in opposite directions and no rotation is singled out.
const antipodal = 1e-6

// rotated is the rotation trick over a latent and the sum of its codes. Where
// the rotation is undefined (antipodal points, a zero vector) it passes
// gradients straight through.
type rotated struct{}

func (rotated) Connect(_ *Context, latent, code, _ *Node) *Node {
	z, zHat := StopGradient(latent), StopGradient(code)
	u, length, some := direction(z)
	q, reach, aim := direction(zHat)
	middle := Add(u, q)
	squared := ReduceAndKeep(Square(middle), ReduceSum, -1) // [N,1]
	turns := And(And(some, aim), GreaterThan(squared, Scalar(z.Graph(), z.DType(), antipodal)))
	squared = Where(turns, squared, OnesLike(squared))
	scale := Where(turns, Div(reach, length), OnesLike(length)) // |ẑ|/|z| [N,1]
	on := ConvertDType(turns, z.DType())

	// The forward value is the code to the bit; the gradient is scale·Rᵀg with
	// Rᵀg = g - 2w⟨w,g⟩ + 2u⟨q,g⟩.
	var arriving *Node
	in := IdentityWithCustomGradient(latent, func(_, _ *Node) *Node {
		alongMiddle := Div(ReduceAndKeep(Mul(middle, arriving), ReduceSum, -1), squared)
		alongCode := ReduceAndKeep(Mul(q, arriving), ReduceSum, -1)
		turn := MulScalar(Mul(on, Sub(Mul(u, alongCode), Mul(middle, alongMiddle))), 2)
		return Mul(scale, Add(arriving, turn))
	})
	value := Add(zHat, MulScalar(in, 0))
	return IdentityWithCustomGradient(value, func(_, g *Node) *Node { arriving = g; return g })
}

// direction returns rows x [N,d] at unit length, their lengths [N,1], and which
// of them have one; rows without stay zero with the length 1.
func direction(x *Node) (unit, length, has *Node) {
	squared := ReduceAndKeep(Square(x), ReduceSum, -1)
	has = GreaterThan(squared, ZerosLike(squared))
	length = Sqrt(Where(has, squared, OnesLike(squared)))
	return Div(x, length), length, has
}
