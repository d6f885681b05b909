package program_test

import (
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/internal/program"
)

const kib = 1 << 10

func input(t *testing.T, dims ...int) *graph.Node {
	t.Helper()
	g := graph.NewGraph(gradtest.Engine(t), t.Name())
	return graph.Parameter(g, "x", shapes.Make(dtypes.Float32, dims...))
}

// A chain holds a value and its successor; a value that is needed later is held until then.
func TestPeakFollowsTheLivesOfValues(t *testing.T) {
	if !gradtest.Embedded() {
		t.Skip("the plan is for the embedded engine")
	}
	x := input(t, 256) // 1 KiB
	chain := x
	for range 10 {
		chain = graph.Sin(chain)
	}
	if got := program.Peak([]*graph.Node{chain}); got < kib || got > 2*kib {
		t.Errorf("a chain takes %d bytes, want 1 or 2 KiB", got)
	}
	kept := make([]*graph.Node, 8)
	for i := range kept {
		if kept[i] = graph.Cos(x); i > 0 {
			kept[i] = graph.Cos(kept[i-1])
		}
	}
	sum := kept[0]
	for i := range kept {
		sum = graph.Add(sum, kept[len(kept)-1-i])
	}
	if got := program.Peak([]*graph.Node{sum}); got < 8*kib || got > 10*kib {
		t.Errorf("eight values that are kept take %d bytes", got)
	}
}

// Inputs, other shapes of a value and nodes without use take nothing.
func TestPeakLeavesOut(t *testing.T) {
	x := input(t, 256)
	graph.BroadcastToDims(graph.Reshape(x, 1, 256), 1<<20, 256)
	same := graph.Reshape(x, 16, 16)
	for range 5 {
		same = graph.Reshape(graph.Identity(same), 256)
	}
	if got := program.Peak([]*graph.Node{same}); got != 0 {
		t.Errorf("got %d bytes", got)
	}
}

func TestPlannedRefusesWhatCannotFit(t *testing.T) {
	if !gradtest.Embedded() {
		t.Skip("the plan is for the embedded engine")
	}
	x := input(t, 1, 256)
	y := graph.Sin(graph.BroadcastToDims(x, 1<<40, 256))
	defer func() {
		err, _ := recover().(error)
		if err == nil || !strings.Contains(err.Error(), "a step with an input of [1 256] numbers would take 1.0 PiB") {
			t.Errorf("got %v", err)
		}
	}()
	program.Planned("a step", []*graph.Node{x}, []*graph.Node{y}, nil)
}
