package vq

import (
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// Chosen codes, values, losses and gradients of the methods with stored codes
// equal PyTorch code written from the formulas; so does the update of averaged
// codes. Noise is given on both sides.
func TestStoredCodesMatchTorch(t *testing.T) {
	for method, configure := range map[string]func(c *Config){
		"ste":      func(*Config) {},
		"ema":      func(*Config) {},
		"rotation": func(c *Config) { c.Loss.Commitment = 0.25 },
		"diveq":    func(c *Config) { c.Noise = 0.2 },
	} {
		t.Run(method, func(t *testing.T) {
			c, err := Defaults(method)
			if err != nil {
				t.Fatal(err)
			}
			c.Codes, c.Levels = 6, 1
			configure(&c)
			q, err := New(c, 4)
			if err != nil {
				t.Fatal(err)
			}
			f := readTorch(t, method, map[string]string{"codes": "level0/codes"})
			updates := map[string]string{}
			if method == "ema" {
				f.Inputs["level0/state/counts"], f.Inputs["level0/state/sums"] = f.Inputs["counts"], f.Inputs["sums"]
				updates = map[string]string{"new_codes": "level0/codes", "new_counts": "level0/state/counts", "new_sums": "level0/state/sums"}
			}
			check := map[string][]float64{}
			var names []string
			values := gradtest.Eval[float64](t, f.Inputs, func(in map[string]*graph.Node) []*graph.Node {
				ctx := training(in)
				if noise, ok := in["noise"]; ok {
					ctx.Random = &Random{given: noise}
				}
				out := q.Build(ctx, in["z"])
				total := graph.Add(graph.ReduceAllSum(graph.Mul(out.Soft, in["weight"])), out.Loss)
				gradients := graph.Gradient(total, in["z"], in["level0/codes"])
				names = []string{"index", "hard", "soft", "loss", "gradient of z", "gradient of codes"}
				nodes := append([]*graph.Node{out.Index, out.Hard, out.Soft, out.Loss}, gradients...)
				for theirs, ours := range updates {
					names, nodes = append(names, theirs), append(nodes, out.Updates[ours])
				}
				return nodes
			})
			for i, name := range names {
				check[name] = values[i]
			}
			want := map[string][]float64{}
			for name, value := range f.Outputs {
				want[name] = value.Data
			}
			for name, value := range f.Gradients {
				want["gradient of "+name] = value.Data
			}
			for name, value := range want {
				if check[name] == nil {
					t.Errorf("%s is not compared", name)
					continue
				}
				gradtest.Close(t, name, check[name], value, 1e-8)
			}
		})
	}
}
