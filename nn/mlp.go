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

// MLP is a stack of dense layers Widths[0] -> Widths[1] -> … with an activation between
// them. Fewer than two widths is the identity.
type MLP struct {
	Widths     []int
	Activation string // relu, gelu or silu
}

// Activations lists the supported activation functions.
var Activations = []string{"relu", "gelu", "silu"}

// Init returns "layer<i>/weights" [in,out] (He-scaled uniform) and "layer<i>/bias"
// [out] (zero).
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
		// The engine's fused layer would always compute the gradient of x, a third of
		// the work, which the first layer does not need.
		x = graph.Add(Product(x, layer.Get("weights")), graph.ExpandAxes(layer.Get("bias"), 0))
		if i < m.layers()-1 {
			x = activation.Apply(activation.FromName(m.Activation), x)
		}
	}
	return x
}

// FeedForward maps every vector up to Hidden values, through an activation and down
// again, without biases.
type FeedForward struct {
	Width, Hidden int
	Activation    string  // one of Activations
	Dropout       float64 // of the hidden values, the same for all places of a sequence
}

// Init returns "up" [Width, Hidden] and "down" [Hidden, Width], Gaussian.
func (f FeedForward) Init(rng *rand.Rand) weights.Set {
	return weights.Set{
		"up":   weights.Normal(rng, 1/math.Sqrt(float64(f.Width)), f.Width, f.Hidden),
		"down": weights.Normal(rng, 1/math.Sqrt(float64(f.Hidden)), f.Hidden, f.Width),
	}
}

// Build maps x [B, T, Width] to [B, T, Width].
func (f FeedForward) Build(v weights.Vars, x *graph.Node, random *Random) *graph.Node {
	hidden := activation.Apply(activation.FromName(f.Activation), linear(x, v.Get("up")))
	return linear(random.Dropout(hidden, f.Dropout, 1), v.Get("down"))
}

// Product returns x w [n,m] for x [n,c] and w [c,m]. For the derived gradient of w the
// embedded engine would transpose both tall matrices, x and the adjoint; transposing x
// alone is a third of the work. The gradient of x stays the derived one.
func Product(x, w *graph.Node) *graph.Node {
	var adjoint *graph.Node
	w = graph.IdentityWithCustomGradient(w, func(_, _ *graph.Node) *graph.Node { return adjoint })
	return graph.IdentityWithCustomGradient(graph.Dot(x, w).Product(), func(_, v *graph.Node) *graph.Node {
		adjoint = graph.Dot(graph.Transpose(x, 0, 1), v).Product() // xᵀ v
		return v
	})
}
