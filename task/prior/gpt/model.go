package gpt

import (
	"fmt"
	"math"
	"path"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"
)

// Model predicts codes. Variables: "codes/table" [codes of all levels, Width],
// "start/table" [Classes+1, Width], with several levels "levels/table" [Levels, Width],
// the blocks' below "blocks" and, unless they are tied, "output/level<l>" [codes, Width].
type Model struct {
	Config Config
	Layout Layout

	blocks nn.Causal
}

// New composes a model.
func New(c Config, l Layout) (*Model, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if err := l.Validate(); err != nil {
		return nil, err
	}
	return &Model{Config: c, Layout: l, blocks: c.network(l.Tokens())}, nil
}

// String describes the model in a few words.
func (m *Model) String() string {
	return fmt.Sprintf("%d layers of width %d, %d heads", m.Config.Layers, m.Config.Width, m.Config.Heads)
}

// BlocksPrefix begins the paths of the variables of Blocks.
const BlocksPrefix = "blocks"

// Blocks is the stack of blocks, for a sampler that caches keys and values.
func (m *Model) Blocks() nn.Causal { return m.blocks }

func (m *Model) embedding(rows int) nn.Embedding {
	return nn.Embedding{Rows: rows, Width: m.Config.Width}
}

func (m *Model) codes() nn.Embedding  { return m.embedding(m.Layout.first(m.Layout.Levels())) }
func (m *Model) starts() nn.Embedding { return m.embedding(m.Layout.Classes + 1) }
func (m *Model) levels() nn.Embedding { return m.embedding(m.Layout.Levels()) }

// Init draws the initial variables, a function of the seed.
func (m *Model) Init(seed uint64) weights.Set {
	set := weights.Set{}
	set.Merge("codes", m.codes().Init(weights.Rand(seed, "codes")))
	set.Merge("start", m.starts().Init(weights.Rand(seed, "start")))
	if m.Layout.Levels() > 1 {
		set.Merge("levels", m.levels().Init(weights.Rand(seed, "levels")))
	}
	set.Merge(BlocksPrefix, m.blocks.Init(weights.Rand(seed, "blocks")))
	if !m.Config.Tied {
		rng := weights.Rand(seed, "output")
		for level, codes := range m.Layout.Vocab {
			set[outputPath(level)] = weights.Normal(rng, 1/math.Sqrt(float64(m.Config.Width)), codes, m.Config.Width)
		}
	}
	return set
}

func outputPath(level int) string { return fmt.Sprintf("output/level%d", level) }

// Group is the parameter group of a variable: weight decay is for matrices that
// multiply, not for embeddings, norms and biases.
func (m *Model) Group(variable string) weights.Group {
	switch path.Base(variable) {
	case "table", "scale", "bias":
		return weights.Plain
	}
	return weights.Network
}
