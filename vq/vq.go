// Package vq turns latents into discrete codes and carries gradients across the
// hard assignment.
//
// A [Quantizer] is composed: a [Method] such as [GRIT], [STE] or [EMA] says how one
// codebook is stored, learned and differentiated; [Residual] stacks codebooks, each
// coding the error of the levels before it, under one surrogate on their sum;
// [Product] lays residual stacks side by side over slices of the vector. Inference
// always uses the hard assignment. A program adds its own methods with [Register].
//
// # Context
//
// The cells of a picture can be coded in phases (transform.context), each with a stack
// of its own. The codes of a later phase are used as mu + s*C', with mu and s from a
// network over the quantized latents of the phases before. The paper's codebook is the
// same for every sample; this rule is relaxed on purpose. Since mu and s depend on sent
// codes alone, the decoder knows them, assignments stay hard and the search exact:
//
//	argmin_k |z - mu - s*c_k|² = argmin_k -2⟨s*(z-mu), c_k⟩ + ⟨s², c_k²⟩
package vq

import (
	"fmt"
	"math/rand/v2"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"
)

// Context is the input of one step beside the latents.
type Context struct {
	Vars     weights.Vars
	Training bool
	// Progress is the fraction of training done, a scalar; nil at inference.
	Progress *graph.Node
	// Active [levels] is 1 for levels in use and 0 for dropped ones (quantizer
	// dropout); nil means all.
	Active *graph.Node
	// Mask [N] is 1 for rows in use and 0 for padding, which affects neither losses
	// nor statistics; nil means all.
	Mask *graph.Node
	// Given [N,L] (int32) are codes that were chosen outside the graph, such as by a
	// beam search with the current codes; nil lets the quantizer choose.
	Given *graph.Node
	// Shift and Scale [N,d]: in these rows a code c stands for shift + scale*c, which
	// [New] sets for cells coded in phases; nil for the codes as they are.
	Shift, Scale *graph.Node
	// Sent [N,d] is the sum of the vectors sent by the levels before the one that is
	// asked; nil at the first level.
	Sent *graph.Node
	// Kept says that codes stay: the decoder trains on their vectors, as at inference.
	Kept   bool
	Random *Random // the step's noise; nil at inference
	drop   float64 // share of hidden values dropped; see thinned
}

// in resolves variables below a sub-path.
func (c *Context) in(path string) *Context {
	sub := *c
	sub.Vars = c.Vars.In("%s", path)
	return &sub
}

// given returns the chosen codes of a range of positions; nil if there are none.
func (c *Context) given(from, to int) *graph.Node {
	if c.Given == nil {
		return nil
	}
	return graph.Slice(c.Given, graph.AxisRange(), graph.AxisRange(from, to))
}

// Output is one quantized batch. N latents of dimension d, L codes each.
type Output struct {
	Hard  *graph.Node // ẑ [N,d]: the decoder's input at inference
	Soft  *graph.Node // z_q [N,d]: the decoder's input in training; carries gradients
	Index *graph.Node // [N,L] int32
	Loss  *graph.Node // scalar: the method's own losses, already weighted
	// Residuals are the inputs [N,d'] of the L code positions, for resets.
	Residuals []*graph.Node
	// Updates holds new values of variables by path: running averages, and codes
	// that follow them. The training step applies them if the step is kept; changes
	// of a variable that the optimizer moves too are added up.
	Updates map[string]*graph.Node
	Stats   map[string]*graph.Node // scalars worth watching, by name
	// Surrogates are the places where gradients cross the assignment, see [Pulls].
	Surrogates []Surrogate
}

// Quantizer turns latents [N,d] into codes [N,L] and back. It may also implement
// [Preparer], [NearestSearcher], [Freezer], [Refresher], [Projector], [Rewirer] and
// [Placer]; callers go through the functions [Prepare] to [Place].
type Quantizer interface {
	// Init returns the quantizer's variables, starting from a sample of latents.
	Init(sample Latents, rng *rand.Rand) (weights.Set, error)
	// Build quantizes z [N,d]. Half-precision latents are quantized in float32,
	// and Soft alone is returned in their type. Graph code: panics on misuse.
	Build(ctx *Context, z *graph.Node) Output
	// Codebooks returns the usable codes C' [K,d'] of every code position. The
	// vector of a part is the sum of its levels' codes, except where codes depend on
	// those of earlier levels: then C' is what they depend from, and [Lookup] and
	// [Search] give vectors.
	Codebooks(ctx *Context) []*graph.Node
	// Layout describes the code positions.
	Layout() Layout
}

// New composes the configured quantizer for latents of dimension dim.
func New(c Config, dim int) (Quantizer, error) {
	if err := c.Validate(dim); err != nil {
		return nil, err
	}
	if c.Distance == Cosine {
		c.Transform.RowNorm = transform.RowNormLatent
	}
	switch m := methods[c.Method]; {
	case m.New != nil:
		return m.New(c, dim)
	case c.Transform.Context > 0:
		return newPhased(c, dim), nil
	}
	return newStack(c, dim), nil
}

// newStack returns the quantizer of one phase.
func newStack(c Config, dim int) Quantizer {
	if c.Parts == 1 {
		return newResidual(c, dim)
	}
	return newProduct(c, dim)
}

func mergeUpdates(into, from map[string]*graph.Node) {
	for path, value := range from {
		if _, taken := into[path]; taken {
			panic(fmt.Errorf("two updates of variable %q in one step", path))
		}
		into[path] = value
	}
}
