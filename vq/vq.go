// Package vq turns latents into discrete codes and carries gradients across the
// hard assignment.
//
// A [Quantizer] is composed, not configured: a method ([GRIT], [STE], [EMA])
// says how one codebook is stored, learned and differentiated; [Residual] stacks
// codebooks, each coding what the one before left over, under a single surrogate
// on their sum; [Product] lays residual stacks side by side over slices of the
// vector. Inference always uses the hard assignment.
package vq

import (
	"fmt"
	"math/rand/v2"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"
)

// Context is what graph code sees of one step besides latents.
type Context struct {
	Vars     weights.Vars
	Training bool
	// Progress is the fraction of training done, a scalar; nil at inference.
	Progress *graph.Node
	// Active [levels] holds 1 for the levels in use this step and 0 for those
	// dropped (quantizer dropout); nil means all.
	Active *graph.Node
	// Mask [N] holds 1 for rows in use and 0 for padding, which touches neither
	// losses nor statistics; nil means all.
	Mask *graph.Node
	// Random is the step's noise; nil at inference.
	Random *Random
}

// in returns the context with variables resolved below a sub-path.
func (c *Context) in(format string, args ...any) *Context {
	sub := *c
	sub.Vars = c.Vars.In(format, args...)
	return &sub
}

// Output is one quantized batch. N latents of dimension d, L codes each.
type Output struct {
	Hard  *graph.Node // ẑ [N,d]: what inference feeds the decoder
	Soft  *graph.Node // z_q [N,d]: what training feeds it; carries gradients
	Index *graph.Node // [N,L] int32
	Loss  *graph.Node // scalar: the method's own losses, already weighted
	// Residuals are the inputs [N,d'] of each code position, L of them: what a
	// reset draws new codes from.
	Residuals []*graph.Node
	// Updates holds new values of variables by path: running averages, and codes
	// that follow them. The training step applies them if the step is kept, and
	// to a variable that the optimizer moves too it adds both changes.
	Updates map[string]*graph.Node
	// Stats are scalars worth watching, by name.
	Stats map[string]*graph.Node
}

// Quantizer turns latents [N,d] into codes [N,L] and back.
type Quantizer interface {
	// Init returns the quantizer's variables, starting from a sample of latents
	// [n,d] in row-major order.
	Init(sample Sample, rng *rand.Rand) (weights.Set, error)
	// Build quantizes z [N,d]. Half-precision latents are quantized in float32,
	// and Soft alone is returned in their type. Graph code: panics on misuse.
	Build(ctx *Context, z *graph.Node) Output
	// Prepare maps latents to the space codes live in (the identity unless the
	// quantizer normalises them), for search outside the graph.
	Prepare(z *graph.Node) *graph.Node
	// Codebooks returns the usable codes C' [K,d'] of every code position.
	Codebooks(ctx *Context) []*graph.Node
	// Lookup turns indices [N,L] back into vectors [N,d].
	Lookup(ctx *Context, index *graph.Node) *graph.Node
	// Layout describes the code positions.
	Layout() Layout
	// Searchable says whether a latent's codes are the nearest usable ones in
	// Euclidean distance, level by level, so that they can be found outside the
	// graph.
	Searchable() bool
	// Frozen says whether a parameter group is kept out of the optimizer.
	Frozen(group weights.Group) bool
	// Refresh rebuilds what is cached between steps: new values by path.
	Refresh(ctx *Context) map[string]*graph.Node
	// Project keeps new parameter values inside their constraints (the spectral
	// bound on W); it edits values, keyed by path, in place.
	Project(ctx *Context, values map[string]*graph.Node)
	// Rewire recomputes on the host what the transform derives from its codes
	// (the neighbours of top-k attention), in place.
	Rewire(set weights.Set) error
	// Place moves codes of one position onto the given latents [len(rows),d'].
	Place(set weights.Set, position int, rows []int, targets []float32, mode transform.PlaceMode) ([]Touched, error)
}

// Layout is the arrangement of a quantizer's code positions, part after part.
type Layout struct {
	Dim    int   // dimension of the latents
	Parts  int   // slices of the vector quantized side by side
	Levels int   // residual levels of each part
	Vocab  []int // codes of each position, Parts*Levels of them
}

// Positions is the number of codes a vector becomes.
func (l Layout) Positions() int { return l.Parts * l.Levels }

// Bounds returns the slice of the vector that a part covers.
func (l Layout) Bounds(part int) (start, end int) {
	return part * l.Dim / l.Parts, (part + 1) * l.Dim / l.Parts
}

// VocabOf returns the codes of each position when only the leading levels are
// used (0 means all).
func (l Layout) VocabOf(levels int) []int {
	if levels == 0 || levels >= l.Levels {
		return l.Vocab
	}
	var vocab []int
	for part := range l.Parts {
		vocab = append(vocab, l.Vocab[part*l.Levels:part*l.Levels+levels]...)
	}
	return vocab
}

// Touched is a variable row that was overwritten from outside the optimizer,
// whose moments must be forgotten.
type Touched struct {
	Path string
	Row  int
}

// Sample is a set of latents on the host, row-major.
type Sample struct {
	Rows []float32 // [N,Dim]
	N    int
	Dim  int
}

// Slice returns columns [start,end) of the sample.
func (s Sample) Slice(start, end int) Sample {
	if start == 0 && end == s.Dim {
		return s
	}
	width := end - start
	out := Sample{Rows: make([]float32, s.N*width), N: s.N, Dim: width}
	for i := range s.N {
		copy(out.Rows[i*width:(i+1)*width], s.Rows[i*s.Dim+start:i*s.Dim+end])
	}
	return out
}

// meanNorm is the mean Euclidean length of the sample's rows.
func (s Sample) meanNorm() float64 {
	total := 0.0
	for i := range s.N {
		total += norm(s.Rows[i*s.Dim : (i+1)*s.Dim])
	}
	return total / float64(max(1, s.N))
}

// New composes the quantizer a configuration describes, for latents of
// dimension dim.
func New(c Config, dim int) (Quantizer, error) {
	if err := c.Validate(dim); err != nil {
		return nil, err
	}
	if c.Distance == Cosine {
		c.Transform.RowNorm = transform.RowNormLatent
	}
	if c.Parts == 1 {
		return newResidual(c, dim), nil
	}
	return newProduct(c, dim), nil
}

func mergeUpdates(into map[string]*graph.Node, from map[string]*graph.Node) {
	for path, value := range from {
		if _, taken := into[path]; taken {
			panic(fmt.Errorf("two updates of variable %q in one step", path))
		}
		into[path] = value
	}
}
