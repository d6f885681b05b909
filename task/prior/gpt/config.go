package gpt

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/nn"
)

// Config describes the network.
type Config struct {
	Layers       int     `yaml:"layers" min:"1" doc:"Blocks of attention and feed-forward network."`
	Width        int     `yaml:"width" min:"1" doc:"Dimension of a token's vector, a multiple of heads."`
	Heads        int     `yaml:"heads" min:"1" doc:"Attention heads."`
	FeedForward  int     `yaml:"feed_forward" min:"0" doc:"Hidden width of the feed-forward networks (0: four times width)."`
	Dropout      float64 `yaml:"dropout" min:"0" below:"1" doc:"Share of the values dropped while training."`
	ClassDropout float64 `yaml:"class_dropout" min:"0" below:"1"`
	Tied         bool    `yaml:"tied" doc:"Codes are predicted by the vectors they are read with, instead of vectors of their own."`
	Precision    string  `yaml:"precision" enum:"f32|bf16"`
}

// Docs describes keys.
func (Config) Docs() map[string]string {
	return map[string]string{
		"class_dropout": "With classes: share of the training rows whose class is hidden, so that sampling can be guided by it.",
		"precision":     "Arithmetic of the blocks and of the logits on engines that compile; norms, softmax and sums are always f32.",
	}
}

// Default is a network for GPUs: 12 layers of width 512.
func Default() Config {
	return Config{Layers: 12, Width: 512, Heads: 8, Dropout: 0.1, ClassDropout: 0.1, Precision: "bf16"}
}

// Small is a network for a few cores: 4 layers of width 128.
func Small() Config {
	c := Default()
	c.Layers, c.Width, c.Heads = 4, 128, 4
	return c
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	if err := config.Check(c, "model"); err != nil {
		return err
	}
	if c.Width%c.Heads != 0 {
		return fmt.Errorf("model.width: %d must be a multiple of model.heads, %d", c.Width, c.Heads)
	}
	return nil
}

// precision is that of the activations on engines that compile; zero is float32.
func (c Config) precision() dtypes.DType {
	if c.Precision == "bf16" {
		return dtypes.BFloat16
	}
	return dtypes.InvalidDType
}

// network is the stack of blocks for rows of the given number of tokens.
func (c Config) network(tokens int) nn.Causal {
	hidden := c.FeedForward
	if hidden == 0 {
		hidden = 4 * c.Width
	}
	return nn.Causal{Transformer: nn.Transformer{Layers: c.Layers, Width: c.Width, Heads: c.Heads, HeadDim: c.Width / c.Heads,
		FeedForward: hidden, Activation: "gelu", Norm: "layer", Dropout: c.Dropout, Positions: "absolute", Length: tokens,
		DType: c.precision()}}
}
