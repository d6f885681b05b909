package twotower

import (
	"math"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/task/recommend/network"
)

// Config describes the two networks.
type Config struct {
	network.Blocks     `yaml:",inline"`
	ItemLayers         int     `yaml:"item_layers" min:"0"`
	Pool               string  `yaml:"pool" enum:"first|mean" doc:"Vector of a sequence: the one at its start, or the mean of all."`
	Length             int     `yaml:"length" min:"1"`
	WordBuckets        int     `yaml:"word_buckets" min:"1" below:"2147483648" doc:"Tokens that the words of a search are hashed to."`
	Similarity         string  `yaml:"similarity" enum:"dot|cosine" doc:"Vectors are compared as they are, or brought to length 1 first."`
	Temperature        float64 `yaml:"temperature" min:"0" below:"Inf"`
	LearnedTemperature bool    `yaml:"learned_temperature" doc:"The temperature is where training starts, and learned with the rest."`
	Popularity         bool    `yaml:"popularity"`
	Own                bool    `yaml:"own" doc:"An item has a vector of its own beside those of its codes."`
	OwnDropout         float64 `yaml:"own_dropout" min:"0" below:"1"`
	Whole              int     `yaml:"whole" min:"0"`
}

// Docs describes keys.
func (c Config) Docs() map[string]string {
	docs := c.Blocks.Docs()
	docs["layers"] = "Blocks of the query tower."
	docs["width"] = "Dimension of all vectors, including the index."
	docs["positions"] = "How the query tower knows order: a bias by distance, a learned vector a place, or not at all."
	docs["item_layers"] = "Blocks of the item tower, which takes the mean of their output over an item's codes (0: of the codes' vectors)."
	docs["length"] = "Items of a history, the last ones, or words of a search, the first ones, that are read."
	docs["temperature"] = "Divisor of the scores in the loss (0: the root of the width for dot, 0.1 for cosine)."
	docs["popularity"] = "Popular items come up in more batches and are corrected for that, so that scores include how popular an item is."
	docs["own_dropout"] = "Share of the items whose own vectors are left out at a step, so that codes alone place items that are new."
	docs["whole"] = "Catalogues of up to so many items compete whole with a target; in larger ones the other targets of its batch do."
	return docs
}

// Default is the paper's network.
func Default() Config {
	return Config{
		Blocks: network.Blocks{Layers: 2, Width: 128, FeedForward: 512, Heads: 4, HeadDim: 32, Activation: "gelu", Norm: "layer",
			Positions: "absolute", Dropout: 0.1, Precision: "f32"},
		ItemLayers: 2, Pool: "mean", Length: 20, WordBuckets: 1 << 15, Similarity: "dot", LearnedTemperature: true, Popularity: true,
	}
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error { return config.Check(c, "model") }

// startTemperature is the temperature of the first step.
func (c Config) startTemperature() float64 {
	switch {
	case c.Temperature > 0:
		return c.Temperature
	case c.Similarity == "cosine":
		return 0.1
	}
	return math.Sqrt(float64(c.Width))
}

// itemTower is the transformer of items; a token tells its position.
func (c Config) itemTower(positions int) nn.Encoder {
	c.Layers, c.Positions = c.ItemLayers, "none"
	return nn.Encoder{Transformer: c.Transformer(positions)}
}
