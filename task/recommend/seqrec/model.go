package seqrec

import (
	"fmt"
	"hash/fnv"
	"math"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

// Model is a recommender over IDs of a fixed length. Variables: "tokens/table"
// [tokens, Width], "encoder/…", "decoder/…" and, unless they are tied,
// "output/position<t>" [Width, codes], which with a prior is zero at first, so that
// items have the prior's probabilities. Tokens are numbered: 0 begins an ID, then
// come the users' buckets and the codes of one position after the other.
type Model struct {
	Config Config

	vocab   network.Vocabulary
	prior   bool // codes have probabilities before anything is learned
	encoder nn.Encoder
	decoder nn.Decoder
}

// startToken begins an ID; padding holds it too.
const startToken = 0

// New composes a model for IDs whose position t has vocab[t] codes. With a prior it
// learns what to add to its scores.
func New(c Config, vocab []int, prior bool) (*Model, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Tied && prior {
		return nil, fmt.Errorf("model.tied: what is added to a prior is zero at first, and tied vectors are not; use tied: false or prior: none")
	}
	numbered, err := network.NewVocabulary(vocab, 1+c.UserBuckets)
	if err != nil {
		return nil, err
	}
	m := &Model{Config: c, vocab: numbered, prior: prior}
	m.encoder = nn.Encoder{Transformer: c.Transformer(m.places(c.History))}
	m.decoder = nn.Decoder{Transformer: c.Transformer(len(vocab))}
	return m, nil
}

// places is the number of tokens that the encoder reads for a history.
func (m *Model) places(history int) int { return 1 + history*len(m.vocab.Codes) }

func (m *Model) embedding() nn.Embedding {
	return nn.Embedding{Rows: m.vocab.Tokens, Width: m.Config.Width}
}

// Init draws the initial variables, a function of the seed.
func (m *Model) Init(seed uint64) weights.Set {
	set := weights.Set{}
	set.Merge("tokens", m.embedding().Init(weights.Rand(seed, "tokens")))
	set.Merge("encoder", m.encoder.Init(weights.Rand(seed, "encoder")))
	set.Merge("decoder", m.decoder.Init(weights.Rand(seed, "decoder")))
	if !m.Config.Tied {
		rng := weights.Rand(seed, "output")
		for t, codes := range m.vocab.Codes {
			if m.prior {
				set[outputPath(t)] = weights.New(m.Config.Width, codes)
				continue
			}
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
