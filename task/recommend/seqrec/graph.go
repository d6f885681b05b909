package seqrec

import (
	"fmt"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// Loss is the mean cross-entropy -Σ q log p over the positions of the IDs of the
// examples in use: p predicts the codes of a position from the target's codes
// before it, and q is the target's code, with a share Smoothing spread over all
// codes. Batch makes the inputs; random is nil except in training.
func (m *Model) Loss(v weights.Vars, inputs []*Node, random *nn.Random) *Node {
	if len(inputs) != BatchInputs {
		panic(fmt.Errorf("seqrec: the loss takes %d inputs, got %d", BatchInputs, len(inputs)))
	}
	targets, inUse := inputs[2], inputs[3]
	sum := ZerosLike(inUse) // [B]
	for t, logp := range m.logProbabilities(v, inputs[0], inputs[1], targets, random) {
		codes := m.vocab.Codes[t]
		wanted := OneHot(column(targets, t), codes, logp.DType())
		if s := m.Config.Smoothing; s > 0 {
			wanted = AddScalar(MulScalar(wanted, 1-s), s/float64(codes))
		}
		sum = Sub(sum, ConvertDType(ReduceSum(Mul(wanted, logp), -1), sum.DType()))
	}
	examples := MaxScalar(ReduceAllSum(inUse), 1)
	return DivScalar(Div(ReduceAllSum(Mul(sum, inUse)), examples), float64(len(m.vocab.Codes)))
}

// logProbabilities returns for each position the log-probabilities [B, codes] of
// its codes, given tokens [B, places], their lengths [B] and the codes of
// targets [B, Length] before the position.
func (m *Model) logProbabilities(v weights.Vars, tokens, lengths, targets *Node, random *nn.Random) []*Node {
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
		all[t] = m.predict(v, Reshape(here, batch, m.Config.Width), t)
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

// predict returns the log-probabilities [N, codes] of a position's codes for the
// decoder's output at the token before it, h [N, Width].
func (m *Model) predict(v weights.Vars, h *Node, position int) *Node {
	if !m.Config.Tied {
		return LogSoftmax(nn.Product(h, v.Get(outputPath(position))), -1)
	}
	first := m.vocab.First[position]
	own := Slice(v.Get("tokens/table"), AxisRange(first, first+m.vocab.Codes[position])) // [codes, Width], as small as a matrix
	return LogSoftmax(Dot(h, own).General([]int{1}, nil, []int{1}, nil), -1)
}

// column is column i of x [N, columns], as [N].
func column(x *Node, i int) *Node {
	return Reshape(Slice(x, AxisRange(), AxisRange(i, i+1)), x.Shape().Dim(0))
}
