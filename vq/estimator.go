package vq

import (
	"github.com/gritvq/gritvq/radius"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// estimator carries gradients from the decoder's input across the hard
// assignment. latent and code are [N,d], index [N] names the first code of each
// row; the result is [N,d].
type estimator interface {
	// start returns the estimator's own variables for latents of dimension dim.
	start(dim int) weights.Set
	connect(ctx *Context, latent, code, index *Node) *Node
	// observe returns state updates and statistics of a batch.
	observe(ctx *Context, latent, code, index *Node) (updates, stats map[string]*Node)
}

// straightThrough copies the gradient to the latent and gives the code none:
// z + sg[ẑ - z], with the forward value ẑ to the bit.
type straightThrough struct{}

func (straightThrough) start(int) weights.Set { return weights.Set{} }

func (straightThrough) connect(_ *Context, latent, code, _ *Node) *Node {
	var arriving *Node
	z := IdentityWithCustomGradient(latent, func(_, _ *Node) *Node { return arriving })
	value := Add(StopGradient(code), MulScalar(z, 0))
	return IdentityWithCustomGradient(value, func(_, g *Node) *Node { arriving = g; return g })
}

func (straightThrough) observe(*Context, *Node, *Node, *Node) (updates, stats map[string]*Node) {
	return nil, nil
}

// radial is GRIT's surrogate; see package radius.
type radial struct {
	config radius.Config
	codes  int
}

func (r radial) start(dim int) weights.Set { return r.config.Init(dim, r.codes) }

func (r radial) inputs(ctx *Context, index *Node) radius.Inputs {
	return radius.Inputs{Vars: ctx.Vars, Progress: ctx.Progress, Index: index}
}

func (r radial) connect(ctx *Context, latent, code, index *Node) *Node {
	return r.config.Connect(r.inputs(ctx, index), latent, code)
}

func (r radial) observe(ctx *Context, latent, code, index *Node) (updates, stats map[string]*Node) {
	in := r.inputs(ctx, index)
	return r.config.Updates(in, latent, code), map[string]*Node{"k": r.config.MeanK(in, latent, code)}
}
