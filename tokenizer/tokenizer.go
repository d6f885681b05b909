// Package tokenizer joins an encoder, a quantizer and a decoder into one model
// of vectors, and runs trained ones.
package tokenizer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// Config describes the network around the quantizer.
type Config struct {
	Dim         int    `yaml:"dim" doc:"Dimension of the latents (0: that of the input)."`
	Hidden      []int  `yaml:"hidden" doc:"Widths of the encoder's hidden layers; the decoder mirrors them. Empty with dim 0 quantizes the vectors themselves."`
	Activation  string `yaml:"activation" enum:"relu|gelu|silu" doc:"Between layers."`
	Standardize string `yaml:"standardize" enum:"none|scale|feature" doc:"scale: subtract the mean and divide by one scale (keeps distances); feature: divide every dimension by its own; none."`
}

// Default is TIGER's shape: 512-256-128 to 32 dimensions.
func Default() Config {
	return Config{Dim: 32, Hidden: []int{512, 256, 128}, Activation: "relu", Standardize: "scale"}
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	if c.Dim < 0 {
		return fmt.Errorf("model.dim: %d must not be negative", c.Dim)
	}
	for _, w := range c.Hidden {
		if w < 1 {
			return fmt.Errorf("model.hidden: width %d must be at least 1", w)
		}
	}
	if !slices.Contains(nn.Activations, c.Activation) {
		return fmt.Errorf("model.activation: unknown function %q, use one of %s", c.Activation, strings.Join(nn.Activations, ", "))
	}
	switch c.Standardize {
	case "none", "scale", "feature":
		return nil
	}
	return fmt.Errorf("model.standardize: unknown value %q, use none, scale or feature", c.Standardize)
}

// Tokenizer is the model: x [N,input] -> z [N,d] -> codes -> ẑ -> x̂. Variables:
// "state/mean", "state/scale" [input], "encoder/…", "decoder/…", "quantizer/…",
// and "state/rotation" [d,d] around quantizers of rotated latents.
type Tokenizer struct {
	Config    Config
	Input     int // dimension of the vectors
	Quantizer vq.Quantizer

	encoder, decoder nn.MLP
	rotated          bool
	beam             int // kept when encoding, unless asked otherwise
}

// New composes a tokenizer for vectors of dimension input.
func New(c Config, q vq.Config, input int) (*Tokenizer, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if input < 1 {
		return nil, fmt.Errorf("vectors need at least one dimension, got %d", input)
	}
	t := &Tokenizer{Config: c, Input: input, rotated: q.Rotated(), beam: q.Beam()}
	dim := c.Dim
	if dim == 0 {
		dim = input
	}
	if len(c.Hidden) > 0 || dim != input {
		widths := append(append([]int{input}, c.Hidden...), dim)
		t.encoder = nn.MLP{Widths: widths, Activation: c.Activation}
		mirror := slices.Clone(widths)
		slices.Reverse(mirror)
		t.decoder = nn.MLP{Widths: mirror, Activation: c.Activation}
	}
	var err error
	t.Quantizer, err = vq.New(q, dim)
	return t, err
}

// Dim is the dimension of the latents.
func (t *Tokenizer) Dim() int { return t.Quantizer.Layout().Dim }

// Identity says whether vectors are quantized as they are, without a network.
func (t *Tokenizer) Identity() bool { return len(t.encoder.Widths) == 0 }

// InitNetwork returns the variables around the quantizer. mean and variance are
// the training data's, by dimension.
func (t *Tokenizer) InitNetwork(seed uint64, mean, variance []float64) weights.Set {
	set := weights.Set{}
	set.Merge("encoder", t.encoder.Init(weights.Rand(seed, "encoder")))
	set.Merge("decoder", t.decoder.Init(weights.Rand(seed, "decoder")))
	set["state/mean"], set["state/scale"] = standardization(t.Config.Standardize, mean, variance)
	if t.rotated {
		set["state/rotation"] = weights.Eye(t.Dim())
	}
	return set
}

// standardize maps vectors to the space the network and the loss work in.
func (t *Tokenizer) standardize(v weights.Vars, x *graph.Node) *graph.Node {
	mean, scale := graph.ExpandAxes(v.Get("state/mean"), 0), graph.ExpandAxes(v.Get("state/scale"), 0)
	return graph.Div(graph.Sub(x, mean), scale)
}

// Encode maps vectors x [N,input] to latents [N,d], ready for nearest-code
// search.
func (t *Tokenizer) Encode(v weights.Vars, x *graph.Node) *graph.Node {
	return t.Quantizer.Prepare(t.latents(v, t.standardize(v, x)))
}

func (t *Tokenizer) latents(v weights.Vars, standard *graph.Node) *graph.Node {
	z := t.encoder.Build(v.In("encoder"), standard)
	if t.rotated {
		z = graph.DotGeneral(z, []int{1}, nil, v.Get("state/rotation"), []int{0}, nil)
	}
	return z
}

// reconstruct maps quantized latents [N,d] to standardized vectors [N,input].
func (t *Tokenizer) reconstruct(v weights.Vars, z *graph.Node) *graph.Node {
	if t.rotated { // the transpose of a rotation turns back
		z = graph.DotGeneral(z, []int{1}, nil, v.Get("state/rotation"), []int{1}, nil)
	}
	return t.decoder.Build(v.In("decoder"), z)
}

// Decode maps quantized latents [N,d] to vectors [N,input].
func (t *Tokenizer) Decode(v weights.Vars, z *graph.Node) *graph.Node {
	y := t.reconstruct(v, z)
	mean, scale := graph.ExpandAxes(v.Get("state/mean"), 0), graph.ExpandAxes(v.Get("state/scale"), 0)
	return graph.Add(graph.Mul(y, scale), mean)
}

// Loss builds a training step's losses on vectors x [N,input]: the mean squared
// reconstruction error in standardized units and the quantizer's output.
func (t *Tokenizer) Loss(ctx *vq.Context, x *graph.Node) (reconstruction *graph.Node, out vq.Output) {
	standard := t.standardize(ctx.Vars, x)
	inner := *ctx
	inner.Vars = ctx.Vars.In("quantizer")
	out = t.Quantizer.Build(&inner, t.latents(ctx.Vars, standard))
	y := t.reconstruct(ctx.Vars, out.Soft)
	return graph.ReduceAllMean(graph.Square(graph.Sub(y, standard))), out
}

// Unquantized is the reconstruction error without the quantizer, which warms the
// network up before codes are placed.
func (t *Tokenizer) Unquantized(v weights.Vars, x *graph.Node) *graph.Node {
	standard := t.standardize(v, x)
	y := t.reconstruct(v, t.latents(v, standard))
	return graph.ReduceAllMean(graph.Square(graph.Sub(y, standard)))
}
