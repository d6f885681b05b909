package network

import (
	"github.com/gomlx/compute/dtypes"

	"github.com/gritvq/gritvq/nn"
)

// Blocks are the settings of transformers.
type Blocks struct {
	Layers      int     `yaml:"layers" min:"1" doc:"Blocks of a transformer."`
	Width       int     `yaml:"width" min:"1" doc:"Dimension of a token's vector."`
	FeedForward int     `yaml:"feed_forward" min:"1" doc:"Hidden width of the feed-forward networks."`
	Heads       int     `yaml:"heads" min:"1" doc:"Attention heads."`
	HeadDim     int     `yaml:"head_dim" min:"1" doc:"Dimension of a head; heads times this need not be the width."`
	Activation  string  `yaml:"activation" enum:"relu|gelu|silu" doc:"Of the feed-forward networks."`
	Norm        string  `yaml:"norm" enum:"rms|layer"`
	Positions   string  `yaml:"positions" enum:"relative|absolute|none"`
	Dropout     float64 `yaml:"dropout" min:"0" below:"1" doc:"Share of the values dropped while training."`
	Precision   string  `yaml:"precision" enum:"f32|bf16"`
}

// Docs describes keys.
func (Blocks) Docs() map[string]string {
	return map[string]string{
		"norm":      "Normalization before every part of a block: division by the root mean square, or layer normalization.",
		"positions": "How order is known: a bias by distance as in T5, a learned vector a place, or not at all.",
		"precision": "Arithmetic of the blocks; norms, attention weights and the loss are always f32.",
	}
}

// Transformer is a network of these settings for sequences of up to length tokens.
func (b Blocks) Transformer(length int) nn.Transformer {
	t := nn.Transformer{Layers: b.Layers, Width: b.Width, Heads: b.Heads, HeadDim: b.HeadDim, FeedForward: b.FeedForward,
		Activation: b.Activation, Norm: b.Norm, Dropout: b.Dropout, Positions: b.Positions, Length: length}
	if b.Precision == "bf16" {
		t.DType = dtypes.BFloat16
	}
	return t
}
