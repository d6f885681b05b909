package tokenizer

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/weights"
)

// CodedRows finds the nearest of many vectors that are stored as codes: those whose
// reconstructions have the smallest squared distance to a query.
//
// Where codes are for the vectors themselves (no network) and every level adds a
// vector of its own, distances come from look-up tables, and rows are kept as codes.
// With a decoder that refines the sums of codes, tables find candidates, the rows with the nearest sums, and their
// reconstructions are compared with the queries. With a network, conditional levels or one scale per feature,
// reconstructions of all rows are made block by block in every search.
type CodedRows struct {
	runtime   *Runtime
	positions int
	n         int
	lookup    *index.Lookup // nil without tables
	factor    float64       // squared distance of vectors over that of latents
	codes     []uint32      // [n,positions] without tables, or with candidates
}

// latentScale is the one scale of latents that are the vectors themselves, moved and
// perhaps rotated; 0 of other tokenizers.
func (t *Tokenizer) latentScale(set weights.Set) float64 {
	n, ok := t.network.(vectorNetwork)
	if !ok || !n.identity() || t.Spec.Quantizer.Normalized() || set["state/scale"] == nil {
		return 0
	}
	scale := set["state/scale"].Data
	for _, s := range scale {
		if s != scale[0] {
			return 0
		}
	}
	return float64(scale[0])
}

// NewCodedRows returns no rows of a number of codes each, those of the leading levels.
func (r *Runtime) NewCodedRows(positions int) (*CodedRows, error) {
	if err := r.tokenizer.Expect(dataset.Vectors); err != nil {
		return nil, err
	}
	layout := r.tokenizer.Quantizer.Layout()
	if positions < 1 || positions%layout.Parts != 0 || positions > layout.Positions() {
		return nil, fmt.Errorf("%d codes a vector do not fit this tokenizer of %d parts x %d levels", positions, layout.Parts, layout.Levels)
	}
	c := &CodedRows{runtime: r, positions: positions, factor: r.latentScale * r.latentScale}
	if product, ok := r.search.(*index.Product); ok && c.factor > 0 && product.Additive() {
		var err error
		c.lookup, err = index.NewLookup(product, positions/layout.Parts)
		return c, err
	}
	return c, nil
}

// Len is the number of rows.
func (c *CodedRows) Len() int { return c.n }

// Tables says whether searches use look-up tables.
func (c *CodedRows) Tables() bool { return c.lookup != nil }

// Candidates is the number of rows whose reconstructions are compared with a query when k are wanted; 0: all rows.
func (c *CodedRows) Candidates(k int) int {
	if c.lookup == nil || !c.refined() {
		return 0
	}
	return min(c.n, max(leastCandidates, 10*k))
}

const leastCandidates = 100

// refined says whether reconstructions are more than the sums of the codes.
func (c *CodedRows) refined() bool { return c.runtime.refines(c.positions) }

// Add appends rows [n,positions].
func (c *CodedRows) Add(codes []uint32) error {
	if len(codes)%c.positions != 0 {
		return fmt.Errorf("%d codes are not rows of %d", len(codes), c.positions)
	}
	n := len(codes) / c.positions
	if c.lookup != nil {
		if err := c.lookup.Add(codes, n); err != nil {
			return err
		}
	}
	if c.lookup == nil || c.refined() {
		c.codes = append(c.codes, codes...)
	}
	c.n += n
	return nil
}

// Search writes the numbers of the k nearest rows of every query of x [n,input] to items
// [n,k], best first, and their squared distances to distances [n,k]. Of equal rows the
// lowest comes first; where there are fewer, the rest is [index.Missing]. progress may
// be nil; it is told how many of the rows were compared where there are no tables.
func (c *CodedRows) Search(ctx context.Context, x []float32, n, k int, items []uint32, distances []float32,
	workers int, progress func(rows int)) error {
	opt := index.SearchOptions{Workers: workers}
	if c.lookup != nil {
		z, err := c.runtime.Latents(ctx, dataset.VectorBatch(x, n))
		if err != nil {
			return err
		}
		if c.refined() {
			return c.searchRefined(ctx, x, z, n, k, items, distances, opt)
		}
		c.lookup.Search(z, n, k, items, distances, opt)
		for i := range distances[:n*k] {
			distances[i] = float32(c.factor * float64(distances[i]))
		}
		return nil
	}
	d, positions := c.runtime.tokenizer.Input, c.positions
	reconstruct := func(start, count int, into []float32) error {
		rows, err := c.runtime.Decode(ctx, c.codes[start*positions:(start+count)*positions], count, positions)
		if err != nil {
			return fmt.Errorf("decoding rows %d to %d: %w", start, start+count-1, err)
		}
		copy(into, rows.Values)
		return nil
	}
	return index.SearchBlocks(ctx, c.n, d, reconstruct, x, n, k, items, distances, opt, progress)
}
