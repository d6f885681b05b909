package sasrec

import (
	"fmt"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/task/recommend/network"
)

// Config describes the network.
type Config struct {
	network.Blocks `yaml:",inline"`
	Length         int    `yaml:"length" min:"1" doc:"Items of a history that are read: the last ones."`
	Loss           string `yaml:"loss" enum:"softmax|binary" doc:"The next item against all others, or against one random item, as published."`
}

// Docs describes keys.
func (c Config) Docs() map[string]string { return c.Blocks.Docs() }

// Default is the usual network.
func Default() Config {
	return Config{Blocks: network.Blocks{Layers: 2, Width: 64, FeedForward: 256, Heads: 2, HeadDim: 32, Activation: "relu", Norm: "layer",
		Positions: "absolute", Dropout: 0.2, Precision: "f32"}, Length: 50, Loss: "softmax"}
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	if err := config.Check(c, "model"); err != nil {
		return err
	}
	if c.Positions == "relative" {
		return fmt.Errorf("model.positions: a causal network has positions absolute or none")
	}
	return nil
}
