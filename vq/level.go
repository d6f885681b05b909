package vq

import (
	"math/rand/v2"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// Level is one code position of a stack: how its codes are stored, chosen,
// learned and turned back into vectors. It may also implement [Graded],
// [Refresher], [Projector], [Rewirer] and [LevelPlacer]. It names its variables
// without a prefix.
type Level interface {
	// Start returns the variables for a sample of residuals, and the usable codes
	// [K,d] they amount to.
	Start(rest Latents, rng *rand.Rand) (vars weights.Set, usable *weights.Array, err error)
	// Assign codes residuals [N,d].
	Assign(ctx *Context, residual *Node) Assigned
	// Usable is the vector of every code [K,d], from live parameters.
	Usable(ctx *Context) *Node
	// Vocab is the number of codes.
	Vocab() int
}

// Graded is a [Level] that differs by its place in the stack.
type Graded interface {
	// At returns the level for l levels before it.
	At(l int) Level
}

// Assigned is a coded batch of one position.
type Assigned struct {
	Index *Node // [N] int32
	Hard  *Node // [N,d]; gradients reach the position's parameters through it
	// Soft [N,d], when set, is the position's own surrogate: it carries all
	// gradients, and the stack sums surrogates instead of connecting the sum.
	Soft    *Node
	Loss    *Node            // scalar, weighted
	Updates map[string]*Node // new values of state variables by path
	Stats   map[string]*Node // scalars by name
}
