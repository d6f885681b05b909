package seqrec

import (
	"fmt"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// Loss is the mean cross-entropy -Σ q log p over the positions of the IDs of the
// examples in use: p predicts the codes of a position from the target's codes
// before it, and q is the target's code, with a share Smoothing spread over all
// codes or, with a prior, over those that lead to items. Batch makes the inputs;
// random is nil except in training.
func (m *Model) Loss(v weights.Vars, inputs []*Node, random *nn.Random) *Node {
	if len(inputs) != m.BatchInputs() {
		panic(fmt.Errorf("seqrec: the loss takes %d inputs, got %d", m.BatchInputs(), len(inputs)))
	}
	targets, inUse, prior := inputs[2], inputs[3], inputs[4:]
	sum := ZerosLike(inUse) // [B]
	for t, logp := range m.logProbabilities(v, inputs[0], inputs[1], targets, prior, random) {
		codes := m.vocab.Codes[t]
		wanted := OneHot(column(targets, t), codes, logp.DType())
		if s := m.Config.Smoothing; s > 0 {
			wanted = Add(MulScalar(wanted, 1-s), MulScalar(spread(prior, t, wanted), s))
		}
		sum = Sub(sum, ConvertDType(ReduceSum(Mul(wanted, logp), -1), sum.DType()))
	}
	examples := MaxScalar(ReduceAllSum(inUse), 1)
	return DivScalar(Div(ReduceAllSum(Mul(sum, inUse)), examples), float64(len(m.vocab.Codes)))
}

// logProbabilities returns for each position the log-probabilities [B, codes] of
// its codes, given tokens [B, places], their lengths [B] and the codes of
// targets [B, Length] before the position and, with a prior, its logarithms [B, codes]
// for each position.
func (m *Model) logProbabilities(v weights.Vars, tokens, lengths, targets *Node, prior []*Node, random *nn.Random) []*Node {
	batch := tokens.Shape().Dim(0)
	memory := m.encoder.Build(v.In("encoder"), m.embed(v, tokens), lengths, random)
	parts := []*Node{Reshape(m.start(tokens.Graph(), batch), batch, 1)}
	for t := range len(m.vocab.Codes) - 1 {
		parts = append(parts, Reshape(AddScalar(column(targets, t), m.vocab.First[t]), batch, 1))
	}
	hidden := m.decoder.Build(v.In("decoder"), m.embed(v, Concatenate(parts, 1)), memory, lengths, random)
	all := make([]*Node, len(m.vocab.Codes))
	for t := range all {
		here := Slice(hidden, AxisRange(), AxisRange(t, t+1))
		scores := m.scores(v, Reshape(here, batch, m.Config.Width), t)
		if m.prior {
			scores = Add(scores, ConvertDType(prior[t], scores.DType()))
		}
		all[t] = LogSoftmax(scores, -1)
	}
	return all
}

// embed looks up tokens [...]: [..., Width].
func (m *Model) embed(v weights.Vars, tokens *Node) *Node {
	return m.embedding().Build(v.In("tokens"), tokens)
}

// start is the token that begins an ID, [rows].
func (m *Model) start(g *Graph, rows int) *Node {
	return BroadcastToDims(Const(g, int32(startToken)), rows)
}

// spread is 1 over the number of codes that are possible, for these.
func spread(prior []*Node, position int, like *Node) *Node {
	if len(prior) == 0 {
		return MulScalar(OnesLike(like), 1/float64(like.Shape().Dim(-1)))
	}
	logp := ConvertDType(prior[position], like.DType())
	possible := ConvertDType(GreaterThan(logp, Scalar(like.Graph(), like.DType(), network.Impossible/2)), like.DType())
	return Div(possible, ReduceAndKeep(possible, ReduceSum, -1))
}

// predict returns the log-probabilities [N, codes] of a position's codes for the
// decoder's output at the token before it, h [N, Width]; with a prior the scores that
// are to be added to it.
func (m *Model) predict(v weights.Vars, h *Node, position int) *Node {
	if m.prior {
		return m.scores(v, h, position)
	}
	return LogSoftmax(m.scores(v, h, position), -1)
}

// scores are the logarithms of a position's probabilities, up to a constant.
func (m *Model) scores(v weights.Vars, h *Node, position int) *Node {
	if !m.Config.Tied {
		return nn.Product(h, v.Get(outputPath(position)))
	}
	first := m.vocab.First[position]
	own := Slice(v.Get("tokens/table"), AxisRange(first, first+m.vocab.Codes[position])) // [codes, Width], as small as a matrix
	return Dot(h, own).General([]int{1}, nil, []int{1}, nil)
}

// column is column i of x [N, columns], as [N].
func column(x *Node, i int) *Node {
	return Reshape(Slice(x, AxisRange(), AxisRange(i, i+1)), x.Shape().Dim(0))
}
