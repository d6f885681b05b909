package seqrec

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"
)

// Model is a recommender over IDs of a fixed length. Variables: "tokens/table"
// [tokens, Width], "encoder/…", "decoder/…" and, unless they are tied,
// "output/position<t>" [Width, codes]. Tokens are numbered: 0 begins an ID, then
// come the users' buckets and the codes of one position after the other.
type Model struct {
	Config Config

	vocab   []int // codes of each position
	first   []int // token of each position's code 0
	tokens  int
	encoder nn.Encoder
	decoder nn.Decoder
}

// startToken begins an ID; padding holds it too.
const startToken = 0

// New composes a model for IDs whose position t has vocab[t] codes.
func New(c Config, vocab []int) (*Model, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if len(vocab) == 0 {
		return nil, fmt.Errorf("a recommender needs IDs of at least one position")
	}
	m := &Model{Config: c, vocab: slices.Clone(vocab), tokens: 1 + c.UserBuckets}
	for t, codes := range vocab {
		if codes < 1 {
			return nil, fmt.Errorf("position %d of an ID has %d codes; it needs at least one", t, codes)
		}
		m.first = append(m.first, m.tokens)
		m.tokens += codes
	}
	if m.tokens > math.MaxInt32 {
		return nil, fmt.Errorf("a vocabulary of %d tokens is too large; use fewer than %d", m.tokens, math.MaxInt32)
	}
	m.encoder = nn.Encoder{Transformer: c.transformer(m.places(c.History))}
	m.decoder = nn.Decoder{Transformer: c.transformer(len(vocab))}
	return m, nil
}

// Vocab returns the number of codes of each position, as a copy.
func (m *Model) Vocab() []int { return slices.Clone(m.vocab) }

// Length is the number of codes of an ID.
func (m *Model) Length() int { return len(m.vocab) }

// places is the number of tokens that the encoder reads for a history.
func (m *Model) places(history int) int { return 1 + history*len(m.vocab) }

func (m *Model) embedding() nn.Embedding {
	return nn.Embedding{Rows: m.tokens, Width: m.Config.Width}
}

// Init draws the initial variables, a function of the seed.
func (m *Model) Init(seed uint64) weights.Set {
	set := weights.Set{}
	set.Merge("tokens", m.embedding().Init(weights.Rand(seed, "tokens")))
	set.Merge("encoder", m.encoder.Init(weights.Rand(seed, "encoder")))
	set.Merge("decoder", m.decoder.Init(weights.Rand(seed, "decoder")))
	if !m.Config.Tied {
		rng := weights.Rand(seed, "output")
		for t, codes := range m.vocab {
			set[outputPath(t)] = weights.Normal(rng, 1/math.Sqrt(float64(m.Config.Width)), m.Config.Width, codes)
		}
	}
	return set
}

func outputPath(position int) string { return fmt.Sprintf("output/position%d", position) }

// userToken hashes a user to one of the buckets.
func (m *Model) userToken(user string) int32 {
	h := fnv.New64a()
	h.Write([]byte(user))
	return int32(1 + h.Sum64()%uint64(m.Config.UserBuckets))
}
