package transform

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/nn"

	"github.com/gritvq/gritvq/weights"
)

// graph holds scores and weights [K,K], and as much again for their gradients.
func (m attentionMixer) graph(c Config, v weights.Vars, codes *Node) *Node {
	return nn.Product(Softmax(m.scores(c, v, codes, nil)), codes)
}

func (m attentionMixer) graphRows(c Config, v weights.Vars, codes, at *Node) *Node {
	return nn.Product(Softmax(m.scores(c, v, codes, at)), codes)
}

// scores returns S, [K,K] or, with at [N,1], its rows [N,K].
func (attentionMixer) scores(c Config, v weights.Vars, codes, at *Node) *Node {
	k := codes.Shape().Dimensions[0]
	queries := nn.Product(codes, v.Get("mixer/query"))
	keys := nn.Product(codes, v.Get("mixer/key"))
	var self *Node // one-hot rows: where a code meets itself
	if at == nil {
		self = ConvertDType(Diagonal(codes.Graph(), k), codes.DType())
	} else {
		queries = Gather(queries, at)
		self = OneHot(Squeeze(at, -1), k, codes.DType())
	}
	// The temperature divides the small factor instead of [K,K].
	queries = DivScalar(queries, c.Temperature)
	scores := Dot(queries, keys).General([]int{1}, nil, []int{1}, nil)
	return Add(scores, Mul(self, InsertAxes(v.Get("mixer/bias"), 0)))
}

// Entropy returns the mean entropy of the mixing rows, a scalar in nats to be
// regularised, or nil for kinds without attention. For attention-lowrank, whose
// rows are never formed, it is the entropy of a code's choice between itself and
// the prototypes.
func (c Config) Entropy(v weights.Vars, codes *Node) *Node {
	switch c.Kind {
	case KindAttention:
		return meanEntropy(attentionMixer{}.scores(c, v, c.trainable(codes), nil))
	case KindAttentionTopK:
		return meanEntropy(topKMixer{}.scores(c, v, c.trainable(codes), nil, topKMixer{}.graphNeighbours(v, nil)))
	case KindAttentionLowRank:
		return prototypeMixer{}.graphEntropy(c, v)
	}
	return nil
}

// meanEntropy is the mean over rows of the entropy of their softmax.
func meanEntropy(logits *Node) *Node {
	logs := LogSoftmax(logits)
	return Neg(ReduceAllMean(ReduceSum(Mul(Exp(logs), logs), -1)))
}
