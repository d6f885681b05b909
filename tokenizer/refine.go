package tokenizer

import (
	"fmt"
	"math"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// Refine is a network that adds relu(z V + b) U + a to the vectors z [N,d] that codes stand for. V, b, U and a are "v"
// [d,width], "bias" [width], "u" [width,d] and "shift" [d] below "decoder/refine". U = a = 0 at the start, so that training
// begins with the vectors of the codes.
type Refine struct {
	Width int     `yaml:"width" doc:"Hidden values (0: no such network)."`
	Drop  float64 `yaml:"drop" doc:"Share of the hidden values that a training step drops."`
}

// RefinePath is the path of its variables.
const RefinePath = "decoder/refine"

func (r Refine) validate(c Config) error {
	switch {
	case r.Width < 0:
		return fmt.Errorf("model.refine.width: %d must not be negative", r.Width)
	case !(r.Drop >= 0 && r.Drop < 1):
		return fmt.Errorf("model.refine.drop: %g must be at least 0 and below 1", r.Drop)
	case r.Width > 0 && (c.Pictures() || c.Dim > 0 || len(c.Hidden) > 0):
		return fmt.Errorf("model.refine.width: is for vectors that are quantized as they are; set it to 0 with a network")
	}
	return nil
}

func (r Refine) init(seed uint64, dim int) weights.Set {
	if r.Width == 0 {
		return nil
	}
	return weights.Set{
		"v":    weights.Normal(weights.Rand(seed, RefinePath), 1/math.Sqrt(float64(dim)), dim, r.Width),
		"bias": weights.New(r.Width), "u": weights.New(r.Width, dim), "shift": weights.New(dim),
	}
}

// build returns refined vectors. random is nil but in training.
func (r Refine) build(v weights.Vars, z *graph.Node, random *vq.Random) *graph.Node {
	if r.Width == 0 {
		return z
	}
	v = v.In(RefinePath)
	hidden := graph.MaxScalar(graph.Add(nn.Product(z, v.Get("v")), graph.ExpandAxes(v.Get("bias"), 0)), 0)
	return graph.Add(z, graph.Add(nn.Product(random.Dropped(hidden, r.Drop), v.Get("u")), graph.ExpandAxes(v.Get("shift"), 0)))
}
