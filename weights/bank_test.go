package weights_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// line is y = a*x + b with a gain outside the pack.
func line() weights.Set {
	return weights.Set{
		"net/a": {Shape: []int{2, 1}, Data: []float32{3, -2}}, "net/b": {Shape: []int{1, 1}, Data: []float32{0.5}},
		"gain": weights.Full(2, 1, 1),
	}
}

func packedLine(t *testing.T) *weights.Bank {
	t.Helper()
	b := weights.NewBank()
	set := line()
	b.Pack("packed", weights.Set{"net/a": set["net/a"], "net/b": set["net/b"]}, "moment")
	if err := b.Install(set.Merge("moment", weights.Set{"net/a": weights.Full(7, 2, 1), "net/b": weights.Full(8, 1, 1)})); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBankKeepsPathsOnTheHost(t *testing.T) {
	b := packedLine(t)
	defer b.Finalize()
	all, err := b.Read("")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"gain", "moment/net/a", "moment/net/b", "net/a", "net/b"}; !slices.Equal(all.Paths(), want) {
		t.Fatalf("read %v, want %v", all.Paths(), want)
	}
	if a := all["net/a"]; !slices.Equal(a.Shape, []int{2, 1}) || !slices.Equal(a.Data, []float32{3, -2}) || all["moment/net/b"].Data[0] != 8 {
		t.Errorf("read %v and %v", *a, *all["moment/net/b"])
	}
	moments, err := b.Read("moment")
	if err != nil || !slices.Equal(moments.Paths(), []string{"net/a", "net/b"}) || moments["net/a"].Data[1] != 7 {
		t.Errorf("below a prefix: %v, %v", moments.Paths(), err)
	}
	for variable, want := range map[string]string{"net/a": "packed/0", "moment/net/b": "moment/packed/0", "gain": "gain"} {
		if got := b.Carrier(variable); got != want {
			t.Errorf("%s travels as %s, want %s", variable, got, want)
		}
	}
	if err := b.Install(weights.Set{"gain": weights.Full(4, 1, 1)}); err != nil {
		t.Errorf("a set without packed variables: %v", err)
	}
	if err := b.Install(weights.Set{"net/a": weights.New(2, 1)}); err == nil || !strings.Contains(err.Error(), "1 of the 2") {
		t.Errorf("half a pack: %v", err)
	}
	if err := b.Install(weights.Set{"net/a": weights.New(3, 1), "net/b": weights.New(1, 1)}); err == nil {
		t.Error("a shape that does not fit was installed")
	}
}

// Many variables travel in several blocks.
func TestBankPacksInBlocks(t *testing.T) {
	many := weights.Set{}
	for i := range 40 {
		many[fmt.Sprintf("w%02d", i)] = weights.Full(float32(i), 1+i%3)
	}
	b := weights.NewBank()
	defer b.Finalize()
	b.Pack("packed", many)
	if err := b.Install(many); err != nil {
		t.Fatal(err)
	}
	blocks := map[string]bool{}
	for p := range many {
		blocks[b.Carrier(p)] = true
	}
	if len(blocks) != 3 || !blocks["packed/2"] {
		t.Errorf("40 variables travel as %v", blocks)
	}
	all, err := b.Read("")
	if err != nil || len(all) != 40 {
		t.Fatalf("read %d variables, %v", len(all), err)
	}
	for p, a := range many {
		if !slices.Equal(all[p].Data, a.Data) {
			t.Errorf("%s: %v, want %v", p, all[p].Data, a.Data)
		}
	}
}

// The embedded engine is known by its name, which must not change unseen.
func TestTheEmbeddedEngineCompilesNothing(t *testing.T) {
	backend, err := engine.Open(engine.Embedded)
	if err != nil {
		t.Fatal(err)
	}
	if weights.Compiles(backend) {
		t.Errorf("engine %q counts as one that compiles", backend.Name())
	}
}

// A step on the block changes the variables as steps on each would.
func TestBankSteps(t *testing.T) {
	step := func(b *weights.Bank, carriers []string) (weights.Set, float32) {
		exec := model.MustNewExec(gradtest.Engine(t), b.Store(), func(_ *model.Scope, x *graph.Node) *graph.Node {
			v := b.Vars(x.Graph())
			y := graph.Mul(graph.Add(graph.MatMul(x, v.Get("net/a")), v.Get("net/b")), v.Get("gain"))
			loss := graph.ReduceAllSum(graph.Square(y))
			next := map[string]*graph.Node{}
			gradients := b.Gradients(loss, v, carriers, y)
			for i, c := range carriers {
				next[c] = graph.Sub(v.Get(c), graph.MulScalar(gradients[i], 0.01))
			}
			b.Assign(next)
			return graph.ReduceAllSum(gradients[len(carriers)])
		})
		defer exec.Finalize()
		out := exec.MustCall(tensors.FromValue([][]float32{{1, 2}, {3, -1}}))
		set, err := b.Read("")
		if err != nil {
			t.Fatal(err)
		}
		return set, tensors.MustCopyFlatData[float32](out[0])[0]
	}
	packed := packedLine(t)
	defer packed.Finalize()
	plain := weights.NewBank()
	defer plain.Finalize()
	if err := plain.Install(line()); err != nil {
		t.Fatal(err)
	}
	got, sum := step(packed, []string{"packed/0", "gain"})
	want, wantSum := step(plain, []string{"net/a", "net/b", "gain"})
	for p, a := range want {
		if !slices.Equal(got[p].Data, a.Data) {
			t.Errorf("%s: %v packed, %v alone", p, got[p].Data, a.Data)
		}
		if slices.Equal(a.Data, line()[p].Data) {
			t.Errorf("%s did not move", p)
		}
	}
	if sum != wantSum {
		t.Errorf("the gradient of another node: %g packed, %g alone", sum, wantSum)
	}
}
