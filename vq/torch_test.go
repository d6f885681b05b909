package vq

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// torchFixture is a forward and backward pass of a PyTorch reference; see
// testdata/reference/make.py.
type torchFixture struct {
	Inputs, Outputs, Gradients gradtest.Inputs
}

// readTorch also gives the inputs the names of the quantizer's variables.
func readTorch(t *testing.T, method string, variables map[string]string) torchFixture {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "testdata", "reference", method+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var f torchFixture
	if err := json.Unmarshal(content, &f); err != nil {
		t.Fatal(err)
	}
	for theirs, ours := range variables {
		f.Inputs[ours] = f.Inputs[theirs]
	}
	return f
}

// Values, losses and gradients of SimVQ, FSQ and LFQ equal PyTorch code written
// from the formulas.
func TestMatchesTorch(t *testing.T) {
	one := func(n int) gradtest.Value {
		v := gradtest.Value{Shape: []int{n}, Data: make([]float64, n)}
		for i := range v.Data {
			v.Data[i] = 1
		}
		return v
	}
	sim := map[string]string{"codes": "level0/codes", "linear": "level0/feature/w", "bias": "level0/feature/bias"}
	for method, set := range map[string]struct {
		dim       int
		variables map[string]string
		scale     bool
		configure func(c *Config)
	}{
		"simvq": {4, sim, false, func(c *Config) { c.Codes = 6 }},
		"fsq":   {3, nil, true, func(c *Config) { c.Grid = []int{8, 5, 6} }},
		"lfq":   {4, nil, true, func(c *Config) { c.Codes, c.Entropy = 16, Entropy{Weight: 0.1, Temperature: 2} }},
	} {
		c := mustDefaults(t, method)
		c.Levels = 1
		set.configure(&c)
		q, err := New(c, set.dim)
		if err != nil {
			t.Fatal(err)
		}
		f := readTorch(t, method, set.variables)
		if set.scale {
			f.Inputs["level0/state/scale"] = one(set.dim)
		}
		theirs := []string{"z"}
		for name := range set.variables {
			theirs = append(theirs, name)
		}
		got := gradtest.Eval[float64](t, f.Inputs, func(in map[string]*graph.Node) []*graph.Node {
			out := q.Build(training(in), in["z"])
			total := graph.Add(graph.ReduceAllSum(graph.Mul(out.Soft, in["weight"])), out.Loss)
			wrt := make([]*graph.Node, len(theirs))
			for i, name := range theirs {
				wrt[i] = in["z"]
				if ours, ok := set.variables[name]; ok {
					wrt[i] = in[ours]
				}
			}
			return append([]*graph.Node{out.Hard, out.Soft, out.Loss}, graph.Gradient(total, wrt...)...)
		})
		for i, name := range []string{"hard", "soft", "loss"} {
			gradtest.Close(t, method+" "+name, got[i], f.Outputs[name].Data, 1e-9)
		}
		for i, name := range theirs {
			if want, ok := f.Gradients[name]; ok {
				gradtest.Close(t, method+" gradient of "+name, got[3+i], want.Data, 1e-8)
			} else if name != "codes" { // frozen: the reference does not ask
				t.Errorf("%s: no reference gradient of %s", method, name)
			}
		}
	}
}
