package transform

import (
	"fmt"
	"math/rand/v2"

	"github.com/gomlx/compute/dtypes"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// topKMixer is attention over the TopK nearest raw codes of a code, itself
// included: the k-NN graph of the last refresh, with attentionMixer's scores.
type topKMixer struct{ attentionMixer }

func (m topKMixer) check(c Config, k, d int) error {
	if c.TopK < 1 || c.TopK > k {
		return fmt.Errorf("topk is %d: use 1 to the number of codes, %d", c.TopK, k)
	}
	return m.attentionMixer.check(c, k, d)
}

func (m topKMixer) start(c Config, set weights.Set, codes *weights.Array, rng *rand.Rand) error {
	if err := m.refresh(c, set, codes); err != nil {
		return err
	}
	return m.attentionMixer.start(c, set, codes, rng)
}

func (topKMixer) refresh(c Config, set weights.Set, codes *weights.Array) error {
	neighbours, err := Neighbours(codes, c.TopK)
	if err != nil {
		return err
	}
	set["state/neighbours"] = neighbours
	return nil
}

// graph goes slot by slot over the neighbours, so that no tensor is larger than
// [K,k] or [K,d]; the engine may keep the k gathered tables for the gradient.
func (m topKMixer) graph(c Config, v weights.Vars, codes, at *Node) *Node {
	scores, slots := m.scores(c, v, codes, at)
	return neighbourSum(Softmax(scores), codes, slots)
}

func (m topKMixer) entropy(c Config, v weights.Vars, codes *Node) *Node {
	scores, _ := m.scores(c, v, codes, nil)
	return meanEntropy(scores)
}

// scores returns the logits [N,k] over the neighbours, slot 0 being the code
// itself, and the codes of every slot, k nodes of [N,1] (int32).
func (topKMixer) scores(c Config, v weights.Vars, codes, at *Node) (scores *Node, slots []*Node) {
	slots = columns(ConvertDType(StopGradient(gathered(v.Get("state/neighbours"), at)), dtypes.Int32))
	queries := nn.Product(codes, v.Get("mixer/query"))
	keys := nn.Product(codes, v.Get("mixer/key"))
	scores = neighbourDot(DivScalar(gathered(queries, at), c.Temperature), keys, slots)
	self := make([]float64, len(slots))
	self[0] = 1
	return Add(scores, Mul(ConstAs(scores, [][]float64{self}), InsertAxes(v.Get("mixer/bias"), 0))), slots
}
