package twotower

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/gritvq/gritvq/nn"
)

// Config describes the two networks.
type Config struct {
	Layers             int     `yaml:"layers" doc:"Blocks of the query tower."`
	ItemLayers         int     `yaml:"item_layers" doc:"Blocks of the item tower, which takes the mean of what they make of an item's codes (0: of the codes' vectors)."`
	Width              int     `yaml:"width" doc:"Dimension of all vectors, those of the index included."`
	FeedForward        int     `yaml:"feed_forward" doc:"Hidden width of the feed-forward networks."`
	Heads              int     `yaml:"heads" doc:"Attention heads."`
	HeadDim            int     `yaml:"head_dim" doc:"Dimension of a head; heads times this need not be the width."`
	Activation         string  `yaml:"activation" enum:"relu|gelu|silu" doc:"Of the feed-forward networks."`
	Norm               string  `yaml:"norm" enum:"rms|layer" doc:"What precedes every part of a block: division by the root mean square, or layer normalization."`
	Positions          string  `yaml:"positions" enum:"relative|absolute|none" doc:"How the query tower knows order: a bias by distance, a learned vector a place, or not at all."`
	Pool               string  `yaml:"pool" enum:"first|mean" doc:"What becomes of a sequence: the vector at its start, or the mean of all."`
	Dropout            float64 `yaml:"dropout" doc:"Share of the values dropped while training."`
	Length             int     `yaml:"length" doc:"Items of a history, the last ones, or words of a search, the first ones, that are read."`
	WordBuckets        int     `yaml:"word_buckets" doc:"Tokens that the words of a search are hashed to."`
	Similarity         string  `yaml:"similarity" enum:"dot|cosine" doc:"Vectors are compared as they are, or brought to length 1 first."`
	Temperature        float64 `yaml:"temperature" doc:"What scores are divided by in the loss (0: the root of the width for dot, 0.1 for cosine)."`
	LearnedTemperature bool    `yaml:"learned_temperature" doc:"The temperature is where training starts, and learned with the rest."`
	Popularity         bool    `yaml:"popularity" doc:"Popular items come up in more batches and are corrected for that, so that scores include how popular an item is."`
	Precision          string  `yaml:"precision" enum:"f32|bf16" doc:"Arithmetic of the blocks; norms, attention weights and the loss are always f32."`
}

// Similarities lists how vectors are compared.
var Similarities = []string{"dot", "cosine"}

// Pools lists what becomes of a sequence.
var Pools = []string{"first", "mean"}

// Default is the paper's network.
func Default() Config {
	return Config{Layers: 2, ItemLayers: 2, Width: 128, FeedForward: 512, Heads: 4, HeadDim: 32, Activation: "gelu", Norm: "layer",
		Positions: "absolute", Pool: "mean", Dropout: 0.1, Length: 20, WordBuckets: 1 << 15, Similarity: "dot", LearnedTemperature: true, Popularity: true, Precision: "f32"}
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	for _, size := range []struct {
		name  string
		value int
	}{
		{"layers", c.Layers}, {"width", c.Width}, {"feed_forward", c.FeedForward}, {"heads", c.Heads},
		{"head_dim", c.HeadDim}, {"length", c.Length}, {"word_buckets", c.WordBuckets},
	} {
		if size.value < 1 {
			return fmt.Errorf("model.%s: %d must be at least 1", size.name, size.value)
		}
	}
	for _, choice := range []struct {
		name, value string
		from        []string
	}{
		{"activation", c.Activation, nn.Activations}, {"norm", c.Norm, nn.Norms}, {"positions", c.Positions, nn.PositionKinds},
		{"pool", c.Pool, Pools}, {"similarity", c.Similarity, Similarities}, {"precision", c.Precision, []string{"f32", "bf16"}},
	} {
		if !slices.Contains(choice.from, choice.value) {
			return fmt.Errorf("model.%s: unknown value %q, use one of %s", choice.name, choice.value, strings.Join(choice.from, ", "))
		}
	}
	switch {
	case c.ItemLayers < 0:
		return fmt.Errorf("model.item_layers: %d must not be negative", c.ItemLayers)
	case c.WordBuckets > math.MaxInt32:
		return fmt.Errorf("model.word_buckets: %d is too large; use at most %d", c.WordBuckets, math.MaxInt32)
	case !(c.Dropout >= 0 && c.Dropout < 1):
		return fmt.Errorf("model.dropout: %g must be at least 0 and below 1", c.Dropout)
	case !(c.Temperature >= 0) || math.IsInf(c.Temperature, 0):
		return fmt.Errorf("model.temperature: %g must be positive, or 0 for the usual one", c.Temperature)
	}
	return nil
}

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

// tower is the transformer of either side.
func (c Config) tower(layers, length int, positions string) nn.Encoder {
	t := nn.Transformer{Layers: layers, Width: c.Width, Heads: c.Heads, HeadDim: c.HeadDim, FeedForward: c.FeedForward,
		Activation: c.Activation, Norm: c.Norm, Dropout: c.Dropout, Positions: positions, Length: length}
	if c.Precision == "bf16" {
		t.DType = dtypes.BFloat16
	}
	return nn.Encoder{Transformer: t}
}
