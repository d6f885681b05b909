package vq

import (
	"github.com/gritvq/gritvq/radius"
	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// GRIT is GRIT-VQ: codes pass through the integrated transform, and the radius
// surrogate sends gradients to the encoder and to the codes' shared parameters.
var GRIT = Method{
	Name: "grit", Title: "GRIT-VQ",
	Summary:    "radius surrogate and integrated codebook transform (GRIT-VQ)",
	Defaults:   func(c *Config, _ *Rates) { c.Transform = transform.Default() },
	Pictures:   gritPictures,
	Paper:      gritPaper,
	Joint:      gritJoint,
	Estimator:  func(c Config) Estimator { return radial{c.Radius, c.Codes, c.Levels} },
	Transforms: true,
}

// gritPictures suits pictures (results/pictures-tuning.md): their learning rate is
// low for codes that the loss alone moves, so that of codes is three times as high.
// The radius moves codes early; as k falls, small codebook and commitment losses
// settle them at the centroids of the latents assigned to them.
func gritPictures(c *Config, r *Rates) {
	c.Radius.Kind, c.Radius.Mode = radius.Power, radius.Ratio
	c.Radius.Scalar = radius.Setting{Value: 1, Use: radius.Scheduled, End: 0.1}
	c.Loss.Codebook, c.Loss.Commitment = 0.5, 0.1
	c.Resets.Donor = "used"
	r.Codes, r.Mixer, r.Feature = 3, 3, 3
}

// gritPaper follows the paper to the letter: low-rank M, row normalisation with a
// gain, spectral clip, frozen codes, C' refreshed every eight steps, no auxiliary
// loss and no resets (protocol A).
func gritPaper(c *Config, _ *Rates) {
	c.Learn = "frozen"
	c.Radius = radius.Default()
	c.Radius.PaperScale = true
	c.Transform = transform.Default()
	c.Transform.Kind = transform.KindLowRank
	c.Transform.RowNorm = transform.RowNormGain
	c.Transform.SpectralClip = 2
	c.Transform.Joint = false
	c.Cache = Cache{Period: 8, Gradient: "live"}
	c.Loss.Codebook, c.Loss.Commitment = 0, 0
	c.Resets.Every = 0
	c.Start.Warmup = 0
}

// gritJoint is the paper's protocol B: raw codes learn by gradient beside M and W, a weak
// regulariser keeps them in use, and dead ones are reset. The paper's absolute threshold
// of dead codes is above 1/K beyond a thousand codes, so that of the default stays.
func gritJoint(c *Config, r *Rates) {
	resets := c.Resets
	gritPaper(c, r)
	c.Learn, c.Transform.Joint = "gradient", true
	c.Loss.Usage = 3e-4 // the paper has 1e-4 to 5e-4
	c.Resets = resets
	c.Resets.Until = 1
}

// radial is GRIT's surrogate.
type radial struct {
	config        radius.Config
	codes, levels int
}

func (r radial) Start(dim int) weights.Set { return r.config.Init(dim, r.codes, r.levels) }

func (r radial) inputs(ctx *Context, index *Node) radius.Inputs {
	return radius.Inputs{Vars: ctx.Vars, Progress: ctx.Progress, Index: index, Active: ctx.Active, Mask: ctx.Mask}
}

func (r radial) Connect(ctx *Context, latent, code, index *Node) *Node {
	return r.config.Connect(r.inputs(ctx, index), latent, code)
}

func (r radial) Observe(ctx *Context, latent, code, index *Node) (updates map[string]*Node, k *Node) {
	in := r.inputs(ctx, index)
	return r.config.Updates(in, latent, code), r.config.K(in, latent, code)
}
