package gpt

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/internal/program"
	"github.com/gritvq/gritvq/weights"
)

// With 65,536 codes neither the loss with all its gradients nor the evaluation has an array of all tokens and codes, or holds
// as much at a time.
func TestLossOfManyCodesHoldsNoLogitsOfAllTokens(t *testing.T) {
	const codes, batch, cells = 1 << 16, 32, 64
	c := Config{Layers: 1, Width: 8, Heads: 2, Precision: "f32"}
	m, err := New(c, Layout{Vocab: []int{codes}, Cells: cells})
	if err != nil {
		t.Fatal(err)
	}
	set := m.Init(1)
	for name, build := range map[string]func(v weights.Vars, in, variables []*graph.Node) []*graph.Node{
		"loss": func(v weights.Vars, in, variables []*graph.Node) []*graph.Node {
			loss := m.Loss(v, in, nil)
			return append(graph.Gradient(loss, variables...), loss)
		},
		"losses": func(v weights.Vars, in, _ []*graph.Node) []*graph.Node { return []*graph.Node{m.Losses(v, in)} },
	} {
		g := graph.NewGraph(gradtest.Engine(t), t.Name()+name)
		nodes := map[string]*graph.Node{}
		var variables []*graph.Node
		for _, p := range set.Paths() {
			nodes[p] = graph.Parameter(g, p, shapes.Make(dtypes.Float32, set[p].Shape...))
			variables = append(variables, nodes[p])
		}
		in := []*graph.Node{graph.Parameter(g, "starts", shapes.Make(dtypes.Int32, batch)),
			graph.Parameter(g, "rows", shapes.Make(dtypes.Int32, batch, cells))}
		results := build(weights.FromNodes(nodes), in, variables)
		const all = batch * cells * codes
		seen, open := map[*graph.Node]bool{}, results
		for len(open) > 0 {
			n := open[len(open)-1]
			if open = open[:len(open)-1]; seen[n] {
				continue
			}
			seen[n] = true
			open = append(open, n.Inputs()...)
			if n.NumOutputs() == 1 && n.Shape().Size() >= all {
				t.Errorf("%s: %s has a value of shape %s", name, n.Type(), n.Shape())
			}
		}
		if peak := program.Peak(results); peak >= 4*all || peak < 4*codes {
			t.Errorf("%s: %d bytes at a time, of %d that all logits would take", name, peak, 4*all)
		}
	}
}
