package tokenizer

import (
	"slices"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"
)

// network carries items to latents and back. Items have units of their own
// (numbers, pixel values); network and loss work in standardized ones.
type network interface {
	init(seed uint64, mean, variance []float64) weights.Set
	standardize(v weights.Vars, x *graph.Node) *graph.Node
	restore(v weights.Vars, y *graph.Node) *graph.Node
	encode(v weights.Vars, standard *graph.Node) *graph.Node // to latents [N,d]
	decode(v weights.Vars, z *graph.Node) *graph.Node        // back to standardized items
	identity() bool
}

// vectorNetwork is a pair of MLPs around vectors [N,input]; without layers the
// vectors are their own latents.
type vectorNetwork struct {
	standardization  string
	encoder, decoder nn.MLP
}

func newVectorNetwork(c Config, input, dim int) vectorNetwork {
	n := vectorNetwork{standardization: c.Standardize}
	if len(c.Hidden) > 0 || dim != input {
		widths := append(append([]int{input}, c.Hidden...), dim)
		n.encoder = nn.MLP{Widths: widths, Activation: c.Activation}
		mirror := slices.Clone(widths)
		slices.Reverse(mirror)
		n.decoder = nn.MLP{Widths: mirror, Activation: c.Activation}
	}
	return n
}

func (n vectorNetwork) identity() bool { return len(n.encoder.Widths) == 0 }

func (n vectorNetwork) init(seed uint64, mean, variance []float64) weights.Set {
	set := weights.Set{}
	set.Merge("encoder", n.encoder.Init(weights.Rand(seed, "encoder")))
	set.Merge("decoder", n.decoder.Init(weights.Rand(seed, "decoder")))
	set["state/mean"], set["state/scale"] = standardization(n.standardization, mean, variance)
	return set
}

func (n vectorNetwork) standardize(v weights.Vars, x *graph.Node) *graph.Node {
	mean, scale := graph.ExpandAxes(v.Get("state/mean"), 0), graph.ExpandAxes(v.Get("state/scale"), 0)
	return graph.Div(graph.Sub(x, mean), scale)
}

func (n vectorNetwork) restore(v weights.Vars, y *graph.Node) *graph.Node {
	mean, scale := graph.ExpandAxes(v.Get("state/mean"), 0), graph.ExpandAxes(v.Get("state/scale"), 0)
	return graph.Add(graph.Mul(y, scale), mean)
}

func (n vectorNetwork) encode(v weights.Vars, standard *graph.Node) *graph.Node {
	return n.encoder.Build(v.In("encoder"), standard)
}

func (n vectorNetwork) decode(v weights.Vars, z *graph.Node) *graph.Node {
	return n.decoder.Build(v.In("decoder"), z)
}
