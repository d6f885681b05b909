package nn

import (
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers/activation"

	"github.com/gritvq/gritvq/weights"
)

// FeedForward maps every vector by itself: up to Hidden values, an activation,
// and down again. It has no biases.
type FeedForward struct {
	Width, Hidden int
	Activation    string  // one of Activations
	Dropout       float64 // of the hidden values, alike for all places of a sequence
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
