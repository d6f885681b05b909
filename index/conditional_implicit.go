package index

import (
	"fmt"
	"slices"
)

// Implicit moves every code c of a level by a network of the code and of x̂: blocks
//
//	v ← v + relu(v P + x̂ Q + b) U
//
// one after the other, from v = c or, with Concat, from v = c + c A + x̂ B + a. The search
// compares the Candidates codes of each hypothesis whose rows of Shortlist are nearest
// to the residual, or as many as the beam is wide.
type Implicit struct {
	Concat     *Concat
	Blocks     []Block
	Shortlist  []float32 // [k,d]
	Candidates int
}

// Concat is the first layer of an [Implicit] condition.
type Concat struct {
	Codes, Sent []float32 // A and B, [d,d]
	Bias        []float32 // a [d]
}

// Block is a residual block of an [Implicit] condition. Without Q and Bias it sees v alone.
type Block struct {
	Hidden  int       // h
	P, Q, U []float32 // [d,h], [d,h], [h,d]
	Bias    []float32 // [h]
}

type implicit struct {
	codes      *Codes
	d          int
	candidates int
	shortlist  *Codes          // nil: all codes are candidates
	start      []float32       // [k,d]: v before the blocks, less the part of x̂
	sent       *layer          // x̂ times B, then times Q of each block
	concat     bool            // the first d terms are x̂ B
	blocks     []implicitBlock // one after the other
	inputs     []float32       // [k,stride]: v P + b of the first block, less the part of x̂
	gram       *gram           // of a single block
}

type implicitBlock struct {
	in, out *layer // P and b, U
	term    int    // the first of the block's terms x̂ Q; -1 without
}

// gram ranks the vectors of a single block without computing them: with f the block's
// hidden layer and r the residual,
//
//	|r - c - f U|² = |r - c|² + ⟨f, f (U Uᵀ) - 2 r Uᵀ + 2 c Uᵀ⟩,
//
// where a triangular matrix stands for U Uᵀ: the part below the diagonal, doubled, in place
// of both.
type gram struct {
	own      []float32 // [k,stride]: c Uᵀ
	residual *layer    // r Uᵀ
	product  *layer    // f (U Uᵀ), triangular
}

func (s Implicit) check(k, d int) error {
	type matrix struct {
		name          string
		x             []float32
		rows, columns int
	}
	list := []matrix{{"the shortlist", s.Shortlist, k, d}}
	if c := s.Concat; c != nil {
		list = append(list, matrix{"A", c.Codes, d, d}, matrix{"B", c.Sent, d, d}, matrix{"the bias", c.Bias, 1, d})
	}
	for i, b := range s.Blocks {
		of := func(name string) string { return fmt.Sprintf("%s of block %d", name, i) }
		list = append(list, matrix{of("P"), b.P, d, b.Hidden}, matrix{of("U"), b.U, b.Hidden, d})
		if b.Q != nil {
			list = append(list, matrix{of("Q"), b.Q, d, b.Hidden}, matrix{of("the bias"), b.Bias, 1, b.Hidden})
		}
	}
	for _, m := range list {
		if err := checkMatrix(m.name, m.x, m.rows, m.columns); err != nil {
			return err
		}
	}
	if s.Candidates < 1 {
		return fmt.Errorf("%d candidates are too few, use at least 1", s.Candidates)
	}
	return nil
}

func (s Implicit) conditioned(codes *Codes) (conditioned, error) {
	k, d := codes.k, codes.d
	if err := s.check(k, d); err != nil {
		return nil, err
	}
	c := &implicit{codes: codes, d: d, candidates: s.Candidates, start: codes.rows, concat: s.Concat != nil}
	if s.Candidates < k {
		shortlist, err := newCodesWith(codes.kernel, s.Shortlist, k, d)
		if err != nil {
			return nil, err
		}
		c.shortlist = shortlist
	}
	var fromSent [][]float32 // matrices [d,·]
	width := 0
	if s.Concat != nil {
		first := newLayer(codes.kernel, s.Concat.Codes, d, d, s.Concat.Bias)
		c.start = slices.Clone(codes.rows)
		for i, part := 0, first.table(codes.rows, k); i < k; i++ {
			add(c.start[i*d:(i+1)*d], part[i*first.stride:])
		}
		fromSent, width = append(fromSent, s.Concat.Sent), d
	}
	for i, b := range s.Blocks {
		block := implicitBlock{
			in: newLayer(codes.kernel, b.P, d, b.Hidden, b.Bias), out: newLayer(codes.kernel, b.U, b.Hidden, d, nil), term: -1,
		}
		if i == 0 { // linear in the code and in x̂: a table and a term
			c.inputs = block.in.table(c.start, k)
			b.Q = s.firstTerm(codes)
		}
		if b.Q != nil {
			block.term = width
			fromSent, width = append(fromSent, b.Q), width+b.Hidden
		}
		c.blocks = append(c.blocks, block)
	}
	c.sent = newLayer(codes.kernel, sideBySide(fromSent, d), d, width, nil)
	if len(s.Blocks) == 1 && s.Concat == nil && s.Blocks[0].Q != nil {
		c.gram = newGram(codes, s.Blocks[0])
	}
	return c, nil
}

// firstTerm returns the matrix [d,h] that takes x̂ to the hidden layer of the first block:
// Q and, through the first layer, B P. Nil if x̂ does not reach it.
func (s Implicit) firstTerm(codes *Codes) []float32 {
	b, d := s.Blocks[0], codes.d
	if s.Concat == nil {
		return b.Q
	}
	through := newLayer(codes.kernel, b.P, d, b.Hidden, nil)
	products := through.table(s.Concat.Sent, d)
	sum := make([]float32, d*b.Hidden)
	copy(sum, b.Q)
	for i := range d {
		add(sum[i*b.Hidden:(i+1)*b.Hidden], products[i*through.stride:])
	}
	return sum
}

// sideBySide joins matrices of d rows.
func sideBySide(list [][]float32, d int) []float32 {
	var joined []float32
	for j := range d {
		for _, m := range list {
			columns := len(m) / d
			joined = append(joined, m[j*columns:(j+1)*columns]...)
		}
	}
	return joined
}

func newGram(codes *Codes, b Block) *gram {
	d, h := codes.d, b.Hidden
	across := make([]float32, d*h) // Uᵀ
	for i := range h {
		for j := range d {
			across[j*h+i] = b.U[i*d+j]
		}
	}
	g := &gram{residual: newLayer(codes.kernel, across, d, h, nil)}
	g.own = g.residual.table(codes.rows, codes.k)
	triangle, stride := make([]float32, h*h), g.residual.stride
	for i, product := 0, g.residual.table(b.U, h); i < h; i++ {
		for j := range i {
			triangle[i*h+j] = 2 * product[i*stride+j]
		}
		triangle[i*h+i] = product[i*stride+i]
	}
	g.product = newLayer(codes.kernel, triangle, h, h, nil)
	return g
}
