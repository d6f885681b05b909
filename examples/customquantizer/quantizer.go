package main

import (
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// scattered is a codebook of Gaussian codes that never move: the simplest
// quantizer there is. The library stacks it in levels and parts, adds the
// straight-through gradient and encodes with it.
type scattered struct {
	config vq.Config
	dim    int
}

func init() {
	vq.Register(vq.Method{
		Name:    "scattered",
		Title:   "scattered codes",
		Summary: "random codes that never move",
		Defaults: func(c *vq.Config, _ *vq.Rates) {
			c.Start.From = "data"    // the codes are as wide as a sample of latents
			c.Resets.Every = 0       // they are not moved
			c.Loss.Commitment = 0.25 // latents come to them
		},
		Level: func(c vq.Config, dim int) vq.Level { return scattered{c, dim} },
	})
}

// Vocab is the number of codes.
func (s scattered) Vocab() int { return s.config.Codes }

// Start draws codes as wide as the residuals they will code. Variables below
// "state" are stored with the model and not trained.
func (s scattered) Start(rest vq.Latents, rng *rand.Rand) (weights.Set, *weights.Array, error) {
	square := 0.0
	for _, x := range rest.Rows {
		square += float64(x) * float64(x)
	}
	codes := weights.Normal(rng, math.Sqrt(square/float64(max(1, len(rest.Rows)))), s.config.Codes, s.dim)
	return weights.Set{"state/codes": codes}, codes, nil
}

// Usable is the codebook [K,d].
func (s scattered) Usable(ctx *vq.Context) *graph.Node { return ctx.Vars.Get("state/codes") }

// Assign gives every residual [N,d] its nearest code.
func (s scattered) Assign(ctx *vq.Context, residual *graph.Node) vq.Assigned {
	codes := s.Usable(ctx)
	index := vq.Nearest(residual, codes)
	hard := vq.Take(codes, index)
	commitment := ctx.MeanSquare(graph.Sub(residual, graph.StopGradient(hard)))
	return vq.Assigned{Index: index, Hard: hard, Loss: graph.MulScalar(commitment, s.config.Loss.Commitment)}
}
