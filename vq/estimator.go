package vq

import (
	"github.com/gritvq/gritvq/radius"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// Estimator carries gradients from the decoder's input across the hard
// assignment. It may also be an [EstimatorStarter] and an [EstimatorObserver].
type Estimator interface {
	// Connect returns the surrogate [N,d] of latent and code [N,d]; index [N] is
	// the first code of each row.
	Connect(ctx *Context, latent, code, index *Node) *Node
}

// EstimatorStarter is an [Estimator] with variables of its own.
type EstimatorStarter interface {
	// Start returns the variables for latents of dimension dim.
	Start(dim int) weights.Set
}

// EstimatorObserver is an [Estimator] with state updates or statistics.
type EstimatorObserver interface {
	// Observe returns the updates by path and the statistics of a batch by name.
	Observe(ctx *Context, latent, code, index *Node) (updates, stats map[string]*Node)
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

// radial is GRIT's surrogate; see package radius.
type radial struct {
	config radius.Config
	codes  int
}

func (r radial) Start(dim int) weights.Set { return r.config.Init(dim, r.codes) }

func (r radial) inputs(ctx *Context, index *Node) radius.Inputs {
	return radius.Inputs{Vars: ctx.Vars, Progress: ctx.Progress, Index: index}
}

func (r radial) Connect(ctx *Context, latent, code, index *Node) *Node {
	return r.config.Connect(r.inputs(ctx, index), latent, code)
}

func (r radial) Observe(ctx *Context, latent, code, index *Node) (updates, stats map[string]*Node) {
	in := r.inputs(ctx, index)
	return r.config.Updates(in, latent, code), map[string]*Node{"k": r.config.MeanK(in, latent, code)}
}
