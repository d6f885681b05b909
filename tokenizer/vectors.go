package tokenizer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// vectorModality is of items [input] with one latent each.
type vectorModality struct{ Config }

func (vectorModality) Kind() dataset.Kind { return dataset.Vectors }
func (vectorModality) Item() string       { return "row" }
func (vectorModality) Tokens() string     { return "rows" }
func (vectorModality) pixels() bool       { return false }
func (vectorModality) block() int         { return BlockRows }
func (vectorModality) batch() int         { return 4 * BlockRows }
func (vectorModality) grid() int          { return 0 }

func (c vectorModality) validate() error {
	for _, w := range c.Hidden {
		if w < 1 {
			return fmt.Errorf("model.hidden: width %d must be at least 1", w)
		}
	}
	if !slices.Contains(nn.Activations, c.Activation) {
		return fmt.Errorf("model.activation: unknown function %q, use one of %s", c.Activation, strings.Join(nn.Activations, ", "))
	}
	switch c.Standardize {
	case "none", "scale", "feature":
		return nil
	}
	return fmt.Errorf("model.standardize: unknown value %q, use none, scale or feature", c.Standardize)
}

func (vectorModality) shape(input int) ([]int, error) {
	if input < 1 {
		return nil, fmt.Errorf("vectors need at least one dimension, got %d", input)
	}
	return []int{input}, nil
}

func (c vectorModality) latents(input int) (tokens, dim int) {
	return 1, cmp.Or(c.Dim, input)
}

// widths of the encoder's layers; nil quantizes the vectors themselves.
func (c vectorModality) widths(input int) []int {
	_, dim := c.latents(input)
	if len(c.Hidden) == 0 && dim == input {
		return nil
	}
	return append(append([]int{input}, c.Hidden...), dim)
}

func (c vectorModality) numbers(input int) float64 {
	n := float64(input)
	for _, width := range c.widths(input) {
		n += 2 * float64(width)
	}
	return n + float64(c.Refine.Width)
}

func (c vectorModality) describe(input int) string {
	if widths := c.widths(input); widths != nil {
		return ", network " + joinWidths(widths)
	}
	text := fmt.Sprintf(" on the %d-d vectors themselves", input)
	if c.Refine.Width > 0 {
		text += fmt.Sprintf(", refined by %d hidden values", c.Refine.Width)
	}
	return text
}

// joinWidths writes widths as 64-128-256.
func joinWidths(widths []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(widths), "[]"), " ", "-")
}

// vectorNetwork is a pair of MLPs around vectors [N,input]; without layers, vectors are their own latents.
type vectorNetwork struct {
	standardization  string
	encoder, decoder nn.MLP
	refine           Refine
}

func (c vectorModality) network(input int) network {
	widths := c.widths(input)
	mirror := slices.Clone(widths)
	slices.Reverse(mirror)
	return vectorNetwork{
		standardization: c.Standardize,
		refine:          c.Refine,
		encoder:         nn.MLP{Widths: widths, Activation: c.Activation}, decoder: nn.MLP{Widths: mirror, Activation: c.Activation},
	}
}

func (n vectorNetwork) identity() bool { return len(n.encoder.Widths) == 0 }

func (n vectorNetwork) init(seed uint64, sample Sample) weights.Set {
	set := weights.Set{}
	set.Merge("encoder", n.encoder.Init(weights.Rand(seed, "encoder")))
	set.Merge("decoder", n.decoder.Init(weights.Rand(seed, "decoder")))
	set.Merge(RefinePath, n.refine.init(seed, len(sample.Mean)))
	set["state/mean"], set["state/scale"] = standardization(n.standardization, sample.Mean, sample.Variance)
	return set
}

// standardization returns the vectors to subtract and to divide by. One scale for all dimensions keeps the error in
// proportion to the vectors' own; dimensions that do not vary are left alone.
func standardization(kind string, mean, variance []float64) (shift, scale *weights.Array) {
	d := len(mean)
	shift, scale = weights.New(d), weights.Full(1, d)
	if kind == "none" {
		return shift, scale
	}
	total := 0.0
	for i := range d {
		shift.Data[i] = float32(mean[i])
		total += variance[i] / float64(d)
	}
	for i := range d {
		v := total
		if kind == "feature" {
			v = variance[i]
		}
		if std := float32(math.Sqrt(v)); std > 0 && !math.IsInf(float64(1/std), 0) {
			scale.Data[i] = std
		}
	}
	return shift, scale
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

func (n vectorNetwork) decode(v weights.Vars, z *graph.Node, random *vq.Random) *graph.Node {
	return n.refine.build(v, n.decoder.Build(v.In("decoder"), z), random)
}

func (n vectorNetwork) output(y *graph.Node) *graph.Node { return y }

type vectorScorer struct {
	input     int
	closeness eval.Reconstruction
}

func (vectorModality) scorer(t *Tokenizer) scorer { return &vectorScorer{input: t.Input} }

func (s *vectorScorer) add(b Coded) error {
	return s.closeness.Add(b.Items.Values, b.Decoded.Values, s.input)
}

func (s *vectorScorer) result(usage *eval.Usage, rows int) Result {
	return &Scores{
		MSE: s.closeness.MSE(), RelativeError: s.closeness.RelativeError(), Cosine: s.closeness.Cosine(),
		CodeUse: newCodeUse(usage), BitsPerVector: plainBits(usage, 0, 1), Vectors: rows,
	}
}
