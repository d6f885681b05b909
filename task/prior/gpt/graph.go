package gpt

import (
	"fmt"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// BatchInputs is the number of inputs of Loss and Losses: start tokens [B], a class or
// Layout.NoClass, and codes [B, Tokens], both int32. The engine clamps values out of
// range silently; callers check them on the host.
const BatchInputs = 2

// Loss is the mean cross-entropy of the codes, in nats a token. random is nil except in
// training.
func (m *Model) Loss(v weights.Vars, inputs []*Node, random *nn.Random) *Node {
	starts, codes := m.inputs(inputs)
	hidden := m.Hidden(v, starts, codes, random)
	var sum *Node
	for level := range m.Layout.Vocab {
		x, targets := m.ofLevel(hidden, codes, level)
		loss := nn.CrossEntropy(x, m.head(v, level), targets)
		if sum != nil {
			loss = Add(sum, loss)
		}
		sum = loss
	}
	return DivScalar(sum, float64(codes.Shape().Size()))
}

// Losses are the cross-entropies [B, Tokens] of the codes, in nats, without a gradient.
func (m *Model) Losses(v weights.Vars, inputs []*Node) *Node {
	starts, codes := m.inputs(inputs)
	hidden := m.Hidden(v, starts, codes, nil)
	batch := codes.Shape().Dim(0)
	var all []*Node // [B, Cells, 1] of each level
	for level := range m.Layout.Vocab {
		x, targets := m.ofLevel(hidden, codes, level)
		all = append(all, Reshape(nn.CrossEntropies(x, m.head(v, level), targets), batch, m.Layout.Cells, 1))
	}
	return Reshape(Concatenate(all, -1), batch, m.Layout.Tokens())
}

func (m *Model) inputs(inputs []*Node) (starts, codes *Node) {
	if len(inputs) != BatchInputs || inputs[1].Rank() != 2 || inputs[1].Shape().Dim(1) != m.Layout.Tokens() {
		panic(fmt.Errorf("gpt: a batch is start tokens and codes of %d tokens a row, got %d inputs", m.Layout.Tokens(), len(inputs)))
	}
	return inputs[0], inputs[1]
}

// Hidden returns the vectors [B, T, Width] that predict the tokens of a row from those
// before them, given start tokens [B] and codes [B, T], T at most Tokens; the last codes
// are not read.
func (m *Model) Hidden(v weights.Vars, starts, codes *Node, random *nn.Random) *Node {
	batch, tokens, levels := codes.Shape().Dim(0), codes.Shape().Dim(1), m.Layout.Levels()
	x := ExpandAxes(m.starts().Build(v.In("start"), starts), 1) // [B, 1, Width]
	if tokens > 1 {
		before := Slice(codes, AxisRange(), AxisRange(0, tokens-1))
		if levels > 1 {
			first := make([]int32, tokens-1)
			for t := range first {
				first[t] = int32(m.Layout.first(t % levels))
			}
			before = Add(before, ExpandAxes(Const(codes.Graph(), first), 0))
		}
		x = Concatenate([]*Node{x, m.codes().Build(v.In("codes"), before)}, 1)
	}
	if levels > 1 {
		level := make([]int32, tokens)
		for t := range level {
			level[t] = int32(t % levels)
		}
		x = Add(x, ExpandAxes(m.levels().Build(v.In("levels"), Const(codes.Graph(), level)), 0))
	}
	return m.blocks.Build(v.In(BlocksPrefix), Reshape(x, batch, tokens, m.Config.Width), random)
}

// Start returns the input of the blocks at place 0 [B, Width] for start tokens [B].
func (m *Model) Start(v weights.Vars, starts *Node) *Node {
	return m.atLevel(v, m.starts().Build(v.In("start"), starts), 0)
}

// Embed returns the input of the blocks [B, Width] at the place after codes [B] of a
// level.
func (m *Model) Embed(v weights.Vars, codes *Node, level int) *Node {
	tokens := AddScalar(codes, m.Layout.first(level))
	return m.atLevel(v, m.codes().Build(v.In("codes"), tokens), (level+1)%m.Layout.Levels())
}

func (m *Model) atLevel(v weights.Vars, x *Node, level int) *Node {
	if m.Layout.Levels() == 1 {
		return x
	}
	return Add(x, m.levels().Range(v.In("levels"), level, level+1))
}

// Logits returns the logits [N, codes] of a level for vectors [N, Width] of the blocks
// at its places.
func (m *Model) Logits(v weights.Vars, hidden *Node, level int) *Node {
	return nn.Logits(nn.InPrecision(hidden, m.Config.precision()), m.head(v, level))
}

// head is the table [codes, Width] whose products with hidden vectors are the logits of
// a level.
func (m *Model) head(v weights.Vars, level int) *Node {
	if !m.Config.Tied {
		return v.Get(outputPath(level))
	}
	first := m.Layout.first(level)
	return Slice(v.Get("codes/table"), AxisRange(first, first+m.Layout.Vocab[level]))
}

// ofLevel returns the vectors [B·Cells, Width] at the places of a level, in the
// precision of the logits, and their codes [B·Cells].
func (m *Model) ofLevel(hidden, codes *Node, level int) (x, targets *Node) {
	batch, levels, cells, width := codes.Shape().Dim(0), m.Layout.Levels(), m.Layout.Cells, m.Config.Width
	x = nn.InPrecision(hidden, m.Config.precision())
	if levels > 1 {
		here := AxisRange(level, level+1)
		x = Slice(Reshape(x, batch, cells, levels, width), AxisRange(), AxisRange(), here)
		codes = Slice(Reshape(codes, batch, cells, levels), AxisRange(), AxisRange(), here)
	}
	return Reshape(x, batch*cells, width), Reshape(codes, batch*cells)
}
