package seqrec

import (
	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/task/recommend/network"
)

// Config describes the network of a recommender.
type Config struct {
	network.Blocks `yaml:",inline"`
	Smoothing      float64 `yaml:"smoothing" min:"0" below:"1"`
	Tied           bool    `yaml:"tied" doc:"Codes are predicted by the vectors they are read with, instead of vectors of their own."`
	History        int     `yaml:"history" min:"1" doc:"Items of a user's history that are read: the last ones."`
	UserBuckets    int     `yaml:"user_buckets" min:"1" doc:"Tokens that users are hashed to; 1 tells no user from another."`
}

// Docs describes keys.
func (c Config) Docs() map[string]string {
	docs := c.Blocks.Docs()
	docs["smoothing"] = "Share of the target's probability that is spread over all codes of its position."
	docs["layers"] = "Blocks of the encoder, and as many of the decoder."
	return docs
}

// Default is the paper's network.
func Default() Config {
	return Config{
		Blocks: network.Blocks{Layers: 4, Width: 128, FeedForward: 1024, Heads: 6, HeadDim: 64, Activation: "relu", Norm: "rms",
			Positions: "relative", Dropout: 0.1, Precision: "f32"},
		Tied: true, History: 20, UserBuckets: 2000,
	}
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error { return config.Check(c, "model") }
