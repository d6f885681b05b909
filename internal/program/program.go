// Package program plans the memory of graphs on the embedded engine, which allocates as it goes and cannot fail softly.
package program

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/memory"
)

// Planned returns the outputs of graph code, at whose end it is called, once the values that the engine holds at a time fit
// into memory. Updates are further results, by the path of a variable. It panics, as graph code does, with an error that
// names the graph and its largest input. Other engines have memory of their own and tell when it is short.
func Planned(what string, inputs, outputs []*graph.Node, updates map[string]*graph.Node) []*graph.Node {
	results := slices.AppendSeq(slices.Clone(outputs), maps.Values(updates))
	if len(results) == 0 || results[0].Graph().Backend().String() != "go" {
		return outputs
	}
	if len(inputs) > 0 {
		largest := slices.MaxFunc(inputs, func(a, b *graph.Node) int { return cmp.Compare(size(a), size(b)) })
		what = fmt.Sprintf("%s with an input of %v numbers", what, largest.Shape().Dimensions)
	}
	memory.Need(what, Peak(results))
	return outputs
}

// PlannedOne is [Planned] for graph code with one output.
func PlannedOne(what string, inputs []*graph.Node, output *graph.Node) *graph.Node {
	return Planned(what, inputs, []*graph.Node{output}, nil)[0]
}

// Peak estimates the bytes that the engine holds at the worst moment beside the graph's inputs: every value lives from its
// node to the last node that uses it.
func Peak(results []*graph.Node) int {
	nodes := reachable(results)
	last := map[*graph.Node]int{} // where a value is used for the last time
	for i, n := range nodes {
		for _, input := range n.Inputs() {
			last[owner(input)] = i
		}
	}
	for _, n := range results {
		last[owner(n)] = len(nodes)
	}
	var now, peak float64
	ends := map[int]float64{}
	for i, n := range nodes {
		if own := owner(n); own == n && n.Type() != graph.NodeTypeParameter {
			now += size(n)
			ends[last[n]] += size(n)
		}
		now -= ends[i]
		peak = max(peak, now)
	}
	return int(min(peak, 1<<62))
}

// reachable lists what the results need in the order in which it was built, which is the engine's.
func reachable(results []*graph.Node) []*graph.Node {
	seen := map[*graph.Node]bool{}
	open := slices.Clone(results)
	for len(open) > 0 {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		if !seen[n] {
			seen[n] = true
			open = append(open, n.Inputs()...)
		}
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b *graph.Node) int { return int(a.Id()) - int(b.Id()) })
}

// owner is the node whose memory a node's value is in.
func owner(n *graph.Node) *graph.Node {
	for n.Type() == graph.NodeTypeReshape || n.Type() == graph.NodeTypeIdentity {
		n = n.Inputs()[0]
	}
	return n
}

// size is the bytes of a node's values, as a float because dimensions may be anything.
func size(n *graph.Node) float64 {
	if n.NumOutputs() != 1 {
		return 0 // its parts are nodes of their own
	}
	bytes := float64(n.DType().Size())
	for _, d := range n.Shape().Dimensions {
		bytes *= float64(d)
	}
	return bytes
}
