package seqrec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/gritvq/gritvq/nn"
)

// Config describes the network of a recommender.
type Config struct {
	Layers      int     `yaml:"layers" doc:"Blocks of the encoder, and as many of the decoder."`
	Width       int     `yaml:"width" doc:"Dimension of a token's vector."`
	FeedForward int     `yaml:"feed_forward" doc:"Hidden width of the feed-forward networks."`
	Heads       int     `yaml:"heads" doc:"Attention heads."`
	HeadDim     int     `yaml:"head_dim" doc:"Dimension of a head; heads times this need not be the width."`
	Activation  string  `yaml:"activation" enum:"relu|gelu|silu" doc:"Of the feed-forward networks."`
	Norm        string  `yaml:"norm" enum:"rms|layer" doc:"What precedes every part of a block: division by the root mean square, or layer normalization."`
	Positions   string  `yaml:"positions" enum:"relative|absolute|none" doc:"How order is known: a bias by distance as in T5, a learned vector a place, or not at all."`
	Dropout     float64 `yaml:"dropout" doc:"Share of the values dropped while training."`
	Smoothing   float64 `yaml:"smoothing" doc:"Share of the target's probability that is spread over all codes of its position."`
	Tied        bool    `yaml:"tied" doc:"Codes are predicted by the vectors they are read with, instead of vectors of their own."`
	History     int     `yaml:"history" doc:"Items of a user's history that are read: the last ones."`
	UserBuckets int     `yaml:"user_buckets" doc:"Tokens that users are hashed to; 1 tells no user from another."`
	Precision   string  `yaml:"precision" enum:"f32|bf16" doc:"Arithmetic of the blocks; norms, attention weights and the loss are always f32."`
}

// Default is the paper's network.
func Default() Config {
	return Config{Layers: 4, Width: 128, FeedForward: 1024, Heads: 6, HeadDim: 64, Activation: "relu", Norm: "rms",
		Positions: "relative", Dropout: 0.1, Tied: true, History: 20, UserBuckets: 2000, Precision: "f32"}
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	for _, size := range []struct {
		name  string
		value int
	}{
		{"layers", c.Layers}, {"width", c.Width}, {"feed_forward", c.FeedForward}, {"heads", c.Heads},
		{"head_dim", c.HeadDim}, {"history", c.History}, {"user_buckets", c.UserBuckets},
	} {
		if size.value < 1 {
			return fmt.Errorf("model.%s: %d must be at least 1", size.name, size.value)
		}
	}
	for _, choice := range []struct {
		name, value string
		from        []string
	}{
		{"activation", c.Activation, nn.Activations}, {"norm", c.Norm, nn.Norms},
		{"positions", c.Positions, nn.PositionKinds}, {"precision", c.Precision, []string{"f32", "bf16"}},
	} {
		if !slices.Contains(choice.from, choice.value) {
			return fmt.Errorf("model.%s: unknown value %q, use one of %s", choice.name, choice.value, strings.Join(choice.from, ", "))
		}
	}
	if !(c.Dropout >= 0 && c.Dropout < 1) {
		return fmt.Errorf("model.dropout: %g must be at least 0 and below 1", c.Dropout)
	}
	if !(c.Smoothing >= 0 && c.Smoothing < 1) {
		return fmt.Errorf("model.smoothing: %g must be at least 0 and below 1", c.Smoothing)
	}
	return nil
}

// transformer is the network of either side, for sequences of up to length
// tokens.
func (c Config) transformer(length int) nn.Transformer {
	t := nn.Transformer{Layers: c.Layers, Width: c.Width, Heads: c.Heads, HeadDim: c.HeadDim, FeedForward: c.FeedForward,
		Activation: c.Activation, Norm: c.Norm, Dropout: c.Dropout, Positions: c.Positions, Length: length}
	if c.Precision == "bf16" {
		t.DType = dtypes.BFloat16
	}
	return t
}
