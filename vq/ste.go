package vq

import (
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// Estimator carries gradients from the decoder's input across the hard
// assignment. It may also be an [EstimatorStarter] and an [EstimatorObserver].
type Estimator interface {
	// Connect returns the surrogate [N,d] of latent and code [N,d]; index [N,L] are
	// the codes of each row.
	Connect(ctx *Context, latent, code, index *Node) *Node
}

// EstimatorStarter is an [Estimator] with variables of its own, for latents [N,dim].
type EstimatorStarter interface {
	Start(dim int) weights.Set
}

// EstimatorObserver is an [Estimator] with state updates, by path, or a gradient factor
// k [N] of each row (nil without one): the share of the gradient along the gap that the
// code receives instead of the latent.
type EstimatorObserver interface {
	Observe(ctx *Context, latent, code, index *Node) (updates map[string]*Node, k *Node)
}

// straightThrough copies the gradient to the latent and gives the code none:
// z + sg[ẑ - z], with the forward value ẑ to the bit.
type straightThrough struct{}

func (straightThrough) Connect(_ *Context, latent, code, _ *Node) *Node {
	var arriving *Node
	z := IdentityWithCustomGradient(latent, func(_, _ *Node) *Node { return arriving })
	value := Add(StopGradient(code), MulScalar(z, 0))
	return IdentityWithCustomGradient(value, func(_, g *Node) *Node { arriving = g; return g })
}

// STE is VQ-VAE's quantizer: straight-through gradients, codes pulled to their
// latents by the codebook loss, latents to their codes by the commitment loss
// (β = 0.25).
var STE = Method{
	Name: "ste", Title: "STE",
	Summary:  "straight-through VQ-VAE with codebook and commitment losses",
	Defaults: steDefaults,
}

func steDefaults(c *Config, _ *Rates) {
	c.Loss.Codebook, c.Loss.Commitment = 1, 0.25
}

// RQVAE is the residual quantizer of TIGER's semantic IDs: [STE] with codes placed
// by k-means on the latents of the first batch of the untrained encoder, and no
// resets.
var RQVAE = Method{
	Name: "rqvae", Title: "RQ-VAE, as published",
	Summary: "TIGER's residual VQ-VAE: straight-through levels, k-means start on the first batch",
	Defaults: func(c *Config, r *Rates) {
		steDefaults(c, r)
		c.Start.Warmup, c.Start.Sample = 0, 1024 // TIGER's batch size
		c.Resets.Every = 0
	},
}

// KMeansSTE is product quantization with straight-through gradients: each part has
// a codebook that starts as the k-means centres of its latents and follows them as
// running means, with a commitment loss on the encoder (β = 0.25).
var KMeansSTE = Method{
	Name: "kmeans-ste", Title: "k-means + STE",
	Summary: "product of k-means codebooks that follow their latents, straight-through",
	Defaults: func(c *Config, _ *Rates) {
		c.Levels, c.Parts = 1, 4
		c.Learn, c.Loss.Commitment = "ema", 0.25
	},
	Product: true,
}

// Rotation is VQ-VAE's quantizer with the rotation trick: gradients reach the
// encoder turned and scaled as the latent is on its way to its code. With
// u = z/|z|, q = ẑ/|ẑ| and w = (u+q)/|u+q|,
//
//	z_q = sg[|ẑ|/|z| · (I - 2wwᵀ + 2quᵀ)] z,
//
// and codes learn by the codebook loss. The commitment loss has full weight, since
// at a quarter of it latents can drift away from their codes.
var Rotation = Method{
	Name: "rotation", Title: "rotation trick",
	Summary:   "VQ-VAE whose gradients are rotated from code to latent (rotation trick)",
	Defaults:  func(c *Config, _ *Rates) { c.Loss.Codebook, c.Loss.Commitment = 1, 1 },
	Estimator: func(Config) Estimator { return rotated{} },
}

// antipodal is |u+q|² below which w is mostly rounding error.
const antipodal = 1e-6

// rotated passes gradients straight through where the rotation is undefined
// (antipodal points, a zero vector).
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

// direction returns unit rows of x [N,d], their lengths [N,1] (1 for zero rows), and
// which are not zero.
func direction(x *Node) (unit, length, has *Node) {
	squared := ReduceAndKeep(Square(x), ReduceSum, -1)
	has = GreaterThan(squared, ZerosLike(squared))
	length = Sqrt(Where(has, squared, OnesLike(squared)))
	return Div(x, length), length, has
}
