package twotower

import (
	"fmt"
	"math"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

// Reads is the input of a query tower.
type Reads int

// The inputs of query towers.
const (
	Histories Reads = iota // items that a user took
	Words                  // words that a user typed
)

// Model is a pair of towers over IDs of a fixed length. Variables:
//
//	tokens/table            [tokens, Width]           vectors of the codes, of both towers
//	query/history           [positions·Width, Width]  codes of an item to one vector (Histories)
//	query/words/table       [WordBuckets, Width]      (Words)
//	query/start             [1, Width]                begins every sequence
//	query/tower/…, item/tower/…                       transformers
//	query/projection, item/projection [Width, Width]
//	own/table               [items, Width]            of the items, of both towers, where they have their own
//	temperature             [1]                       its logarithm, where it is learned
//	prior_weight            [1]                       factor of the prior's scores, where there is one
//
// With a prior the query's projection is zero at first, so that answers are the
// prior's.
//
// Tokens are the codes of one position after the other.
type Model struct {
	Config Config

	reads Reads
	vocab network.Vocabulary
	start Start
	query nn.Encoder
	item  nn.Encoder
}

// Start is what a model begins with.
type Start struct {
	Items int  // of the catalogue; those that are added later have codes alone
	Prior bool // scores are added to those of a prior
}

// New composes towers for items whose IDs have vocab[t] codes at position t.
func New(c Config, reads Reads, vocab []int, start Start) (*Model, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	numbered, err := network.NewVocabulary(vocab, 0)
	if err != nil {
		return nil, err
	}
	if c.Own && start.Items < 1 {
		return nil, fmt.Errorf("vectors of a catalogue's own items need the number of items")
	}
	if start.Prior && c.Similarity == "cosine" {
		return nil, fmt.Errorf("model.similarity: what is added to a prior is zero at first, and a cosine is not; use dot, or prior: none")
	}
	query := nn.Encoder{Transformer: c.Transformer(1 + c.Length)}
	return &Model{Config: c, reads: reads, vocab: numbered, start: start, query: query, item: c.itemTower(len(vocab))}, nil
}

// Towers are the transformers of queries and items; that of items may have no layers.
func (m *Model) Towers() (query, item nn.Transformer) { return m.query.Transformer, m.item.Transformer }

// Searches says whether queries are words.
func (m *Model) Searches() bool { return m.reads == Words }

// Divisor of the query's vectors: with a prior, inner products have the size of scores in the loss.
func (m *Model) Divisor(set weights.Set) float64 {
	switch {
	case !m.start.Prior:
		return 1
	case !m.Config.LearnedTemperature:
		return m.Config.startTemperature()
	}
	return max(math.Exp(float64(set["temperature"].Data[0])), lowestTemperature)
}

// Init draws the initial variables, a function of the seed.
func (m *Model) Init(seed uint64) weights.Set {
	width := m.Config.Width
	square := func(purpose string, in int) *weights.Array {
		return weights.Normal(weights.Rand(seed, purpose), 1/math.Sqrt(float64(in)), in, width)
	}
	set := weights.Set{
		"query/start":      weights.Normal(weights.Rand(seed, "start"), 1, 1, width),
		"query/projection": square("query projection", width),
		"item/projection":  square("item projection", width),
	}
	set.Merge("tokens", m.codeTable().Init(weights.Rand(seed, "tokens")))
	set.Merge("query/tower", m.query.Init(weights.Rand(seed, "query")))
	if m.reads == Words {
		set.Merge("query/words", m.wordTable().Init(weights.Rand(seed, "words")))
	} else {
		set["query/history"] = square("history", len(m.vocab.Codes)*width)
	}
	if m.Config.ItemLayers > 0 {
		set.Merge("item/tower", m.item.Init(weights.Rand(seed, "item")))
	}
	if m.Config.Own {
		set["own/table"] = weights.New(m.start.Items, width) // what codes do not say is learned
	}
	if m.start.Prior {
		set["query/projection"] = weights.New(width, width)
		set["prior_weight"] = weights.Full(1, 1)
	}
	if m.Config.LearnedTemperature {
		set["temperature"] = weights.Full(float32(math.Log(m.Config.startTemperature())), 1)
	}
	return set
}

func (m *Model) codeTable() nn.Embedding {
	return nn.Embedding{Rows: m.vocab.Tokens, Width: m.Config.Width}
}

func (m *Model) ownTable() nn.Embedding {
	return nn.Embedding{Rows: m.start.Items, Width: m.Config.Width}
}

func (m *Model) wordTable() nn.Embedding {
	return nn.Embedding{Rows: m.Config.WordBuckets, Width: m.Config.Width}
}
