package vq

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/radius"
	"github.com/gritvq/gritvq/transform"
)

var updateLayer = flag.Bool("update-layer", false, "write the fixture of the PyTorch layer from the quantizer")

// layerCase is a forward and a backward pass of one level of GRIT, in float64: outputs, and the gradients of
// Σ weight·soft + loss by the names of the inputs.
type layerCase struct {
	Radius, Mode, RowNorm string
	Scalar                float64
	Learned               bool
	Codebook, Commitment  float64
	Inputs                gradtest.Inputs
	Index                 []float64
	Hard, Soft            []float64
	Loss                  float64
	Gradients             map[string][]float64
}

func layerCases(t *testing.T) (cases []layerCase) {
	scalars := map[radius.Kind][]float64{
		radius.Euclidean: {1}, radius.Clipped: {1.2}, radius.Power: {0.7, 1.3}, radius.Huber: {1}, radius.SoftClip: {1.5},
		radius.PseudoHuber: {0.8}, radius.PNorm: {1, 3}, radius.Temperature: {0.5},
	}
	for _, kind := range radius.Names() {
		for _, scalar := range scalars[radius.Kind(kind)] { // none of metrics
			for _, mode := range radius.Modes {
				c := layerCase{Radius: kind, Mode: string(mode), RowNorm: transform.RowNormNone, Scalar: scalar}
				if mode == radius.UnitHard {
					c.RowNorm = transform.RowNormGain
				}
				if mode == radius.Ratio {
					c.Codebook, c.Commitment = 0.5, 0.25
				}
				cases = append(cases, c)
				if learns := radius.Kind(kind) != radius.Euclidean && radius.Kind(kind) != radius.PNorm; learns {
					c.Learned = true
					cases = append(cases, c)
				}
			}
		}
	}
	for i := range cases {
		cases[i].pass(t)
	}
	return cases
}

// pass fills in the arrays.
func (l *layerCase) pass(t *testing.T) {
	t.Helper()
	c := mustDefaults(t, "grit")
	c.Levels, c.Codes, c.Transform.Rank, c.Transform.RowNorm = 1, 7, 3, l.RowNorm
	c.Radius.Kind, c.Radius.Mode, c.Radius.Scalar.Value = radius.Kind(l.Radius), radius.Mode(l.Mode), l.Scalar
	c.Loss.Codebook, c.Loss.Commitment = l.Codebook, l.Commitment
	if l.Learned {
		c.Radius.Scalar.Use = radius.Learned
	}
	f := newFixture(t, c, 4, 9)
	in := f.inputs()
	in["weight"] = random(rand.New(rand.NewPCG(1, 2)), 9, 4)
	var names []string
	l.Inputs = gradtest.Inputs{}
	for _, name := range in.Names() {
		if strings.HasPrefix(name, "level0/state/") && name != "level0/state/source" || name == "state/scalar" {
			continue
		}
		l.Inputs[name] = in[name]
		if name != "weight" && name != "level0/state/source" {
			names = append(names, name)
		}
	}
	got := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		out := f.q.Build(training(nodes), nodes["z"])
		wrt := make([]*graph.Node, len(names))
		for i, name := range names {
			wrt[i] = nodes[name]
		}
		total := graph.Add(graph.ReduceAllSum(graph.Mul(out.Soft, nodes["weight"])), out.Loss)
		index := graph.ConvertDType(out.Index, nodes["z"].DType())
		return append([]*graph.Node{index, out.Hard, out.Soft, out.Loss}, graph.Gradient(total, wrt...)...)
	})
	l.Index, l.Hard, l.Soft, l.Loss, l.Gradients = got[0], got[1], got[2], got[3][0], map[string][]float64{}
	for i, name := range names {
		l.Gradients[name] = got[4+i]
	}
}

// The fixture that gritvq.nn.GritVQ is compared with, in python/tests, is what this quantizer computes. After a change
// of the method: go test ./vq -run Layer -update-layer.
func TestLayerFixture(t *testing.T) {
	file := filepath.Join("..", "python", "tests", "grit.json")
	cases := layerCases(t)
	if *updateLayer {
		content, err := json.Marshal(cases)
		if err == nil {
			err = os.WriteFile(file, content, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var stored []layerCase
	if err := json.Unmarshal(content, &stored); err != nil || len(stored) != len(cases) {
		t.Fatalf("%d stored cases, want %d, %v", len(stored), len(cases), err)
	}
	for i, want := range cases {
		name := fmt.Sprintf("%s %s %g learned %t", want.Radius, want.Mode, want.Scalar, want.Learned)
		gradtest.Close(t, name+": index", stored[i].Index, want.Index, 0)
		gradtest.Close(t, name+": soft", stored[i].Soft, want.Soft, 1e-12)
		for p, gradient := range want.Gradients {
			gradtest.Close(t, name+": gradient of "+p, stored[i].Gradients[p], gradient, 1e-10)
		}
	}
}
