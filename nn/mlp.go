// Package nn holds the network blocks tokenizers are built from, as graph code
// over named variables.
package nn

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gritvq/gritvq/weights"
)

// MLP is a stack of dense layers Widths[0] -> Widths[1] -> … with an activation
// between them and none after the last. Fewer than two widths is the identity.
type MLP struct {
	Widths     []int
	Activation string // relu, gelu or silu
}

// Activations lists the supported activation functions.
var Activations = []string{"relu", "gelu", "silu"}

// Init returns "layer<i>/weights" [in,out] (He-scaled uniform, so that signal
// size is kept through the activations) and "layer<i>/bias" [out] (zero).
func (m MLP) Init(rng *rand.Rand) weights.Set {
	set := weights.Set{}
	for i := range m.layers() {
		in, out := m.Widths[i], m.Widths[i+1]
		gain := 6.0 // ReLU-like activations halve the second moment
		if i == m.layers()-1 {
			gain = 3
		}
		set[fmt.Sprintf("layer%d/weights", i)] = weights.Uniform(rng, math.Sqrt(gain/float64(in)), in, out)
		set[fmt.Sprintf("layer%d/bias", i)] = weights.New(out)
	}
	return set
}

func (m MLP) layers() int { return max(0, len(m.Widths)-1) }

// Build maps x [N, Widths[0]] to [N, Widths[last]].
func (m MLP) Build(v weights.Vars, x *graph.Node) *graph.Node {
	for i := range m.layers() {
		layer := v.In("layer%d", i)
		// Not the engine's fused layer: its gradient always computes the one of
		// x, which the first layer does not need and which costs a third.
		x = graph.Add(Product(x, layer.Get("weights")), graph.ExpandAxes(layer.Get("bias"), 0))
		if i < m.layers()-1 {
			x = activation.Apply(activation.FromName(m.Activation), x)
		}
	}
	return x
}
