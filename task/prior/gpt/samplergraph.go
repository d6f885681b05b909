package gpt

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// place predicts the codes of a level at one position (int32, a scalar) of B rows from
// the codes [B] of the position before: logits [B, K], and the caches for the next place.
type place func(level int, position, previous *Node, caches []*Node) (logits *Node, next []*Node)

// places is the place of a model for start tokens [B] or, guided by a class, [2B]: those
// of the classes and then those of no class. Guided logits are those of no class plus
// guidance times the way from them to the class's (Ho and Salimans, 2021).
func (m *Model) places(v weights.Vars, starts *Node, guidance float64) place {
	return func(level int, position, previous *Node, caches []*Node) (*Node, []*Node) {
		batch, guided := previous.Shape().Dim(0), starts.Shape().Dim(0) > previous.Shape().Dim(0)
		if guided {
			previous = Concatenate([]*Node{previous, previous}, 0)
		}
		levels := m.Layout.Levels()
		x := m.Embed(v, previous, (level+levels-1)%levels)
		if level == 0 {
			first := BroadcastToDims(Equal(position, ScalarZero(position.Graph(), position.DType())), x.Shape().Dimensions...)
			x = Where(first, m.Start(v, starts), x)
		}
		hidden, next := m.blocks.Step(v.In(BlocksPrefix), x, position, nn.Pair(caches))
		logits := m.Logits(v, hidden, level)
		if guided {
			null := Slice(logits, AxisRange(batch, 2*batch))
			logits = Add(null, MulScalar(Sub(Slice(logits, AxisRange(0, batch)), null), guidance))
		}
		return logits, nn.Flatten(next)
	}
}

// run draws the codes of the cells from first to end-1 in a loop of the engine: one
// iteration a cell, nothing leaves the engine in between. Codes, given, known (int32,
// 1 where given is kept) and uniform are [Tokens, B]; it returns codes and caches with
// these cells added.
//
// Engines share functions and constants between the closures of a program in ways that
// allow for one loop a program and for no work after it.
func (l Layout) run(at place, f Filter, first, end int, codes, given, known, uniform *Node, caches []*Node) (*Node, []*Node) {
	g := codes.Graph()
	state := append([]*Node{Const(g, int32(first)), codes}, caches...)
	parameters := func(g *Graph) []*Node {
		all := make([]*Node, len(state))
		for i, s := range state {
			all[i] = Parameter(g, fmt.Sprintf("state%d", i), s.Shape())
		}
		return all
	}
	more := NewClosure(g, func(g *Graph) []*Node {
		return []*Node{LessThan(parameters(g)[0], Const(g, int32(end)))}
	})
	body := NewClosure(g, func(g *Graph) []*Node {
		now := parameters(g)
		cell, codes, caches := now[0], now[1], now[2:]
		position := Mul(cell, Const(g, int32(l.Levels())))
		for level := range l.Levels() {
			here := Add(position, Const(g, int32(level)))
			before := Max(Sub(here, Const(g, int32(1))), Const(g, int32(0)))
			var logits *Node
			logits, caches = at(level, here, row(codes, before), caches)
			drawn := f.draw(logits, row(uniform, here))
			kept := NotEqual(row(known, here), ZerosLike(drawn))
			drawn = Where(kept, row(given, here), drawn)
			codes = DynamicUpdateSlice(codes, ExpandAxes(drawn, 0), []*Node{here, Const(g, int32(0))})
		}
		return append([]*Node{Add(cell, Const(g, int32(1))), codes}, caches...)
	})
	final := While(more, body, state...)
	return final[1], final[2:]
}

// row is a row [B] of x [Tokens, B].
func row(x, number *Node) *Node {
	return Reshape(Gather(x, Reshape(number, 1, 1)), x.Shape().Dim(1))
}

// longer returns caches [R, H, T, d] with zeros for more places.
func longer(caches []*Node, length int) []*Node {
	all := make([]*Node, len(caches))
	for i, c := range caches {
		more := c.Shape().Clone()
		more.Dimensions[2] = length - more.Dimensions[2]
		all[i] = Concatenate([]*Node{c, Zeros(c.Graph(), more)}, 2)
	}
	return all
}

// empty returns the caches before the first place.
func (m *Model) empty(g *Graph, rows, length int) []*Node {
	return nn.Flatten(m.blocks.Empty(ScalarZero(g, dtypes.Float32), rows, length))
}

// resolve looks all variables up at once: inside a loop it is too late. Matrices get the precision of the products there, so that
// no iteration reads and converts them.
func (m *Model) resolve(v weights.Vars, paths []string) weights.Vars {
	nodes := map[string]*Node{}
	for _, p := range paths {
		if nodes[p] = v.Get(p); m.Group(p) == weights.Network {
			nodes[p] = nn.InPrecision(nodes[p], m.Config.precision())
		}
	}
	return weights.FromNodes(nodes)
}
