package onnx

import (
	"fmt"
	"path"

	"github.com/gritvq/gritvq/index"
	file "github.com/gritvq/gritvq/onnx"
	"github.com/gritvq/gritvq/weights"
)

// condition makes codes depend on the sum of the vectors of earlier levels, sent; see docs/FORMAT.md.
type condition interface {
	// vectors are those of codes [N, d'].
	vectors(n network, codes, sent string) string
	// choose returns the codes [N] whose vectors are nearest to residuals, and the vectors.
	choose(n network, position int, residual, sent string) (code, vector string)
}

// affine shifts and scales codes.
type affine struct{ at string }

// terms are the shift and the scale [N, d'].
func (c affine) terms(n network, sent string) (shift, scale string) {
	d := n.set[path.Join(c.at, "q")].Shape[0]
	hidden := n.w.Apply("Relu", n.w.Apply("Add", n.product(sent, c.at, "q"), n.variable(c.at, "bias")))
	out := n.product(hidden, c.at, "u")
	shift = n.columns(out, 0, d)
	t := n.columns(out, d, 2*d)
	a := n.scalar("Add", n.scalar("Mul", n.w.Apply("Abs", t), 4), 4)
	return shift, n.w.Apply("Div", n.w.Apply("Add", a, t), n.w.Apply("Sub", a, t))
}

func (c affine) vectors(n network, codes, sent string) string {
	shift, scale := c.terms(n, sent)
	return n.w.Apply("Add", shift, n.w.Apply("Mul", scale, codes))
}

func (c affine) choose(n network, position int, residual, sent string) (code, vector string) {
	shift, scale := c.terms(n, sent)
	code, vector = scaled{scale}.choose(n, position, n.w.Apply("Sub", residual, shift), "")
	return code, n.w.Apply("Add", shift, vector)
}

// scaled multiplies codes by a scale [N, d'].
type scaled struct{ scale string }

func (c scaled) vectors(n network, codes, _ string) string { return n.w.Apply("Mul", c.scale, codes) }

// choose compares half the squared distances to s·c, less those to the residual r: ⟨s², c²/2⟩ - ⟨s·r, c⟩.
func (c scaled) choose(n network, position int, residual, _ string) (code, vector string) {
	book, name := n.book(position)
	turned, halves := turnedAndHalved(book)
	shape := []int{book.Shape[1], book.Shape[0]}
	along := n.w.Apply("MatMul", n.w.Apply("Mul", c.scale, residual), n.w.Floats(name+"/turned", shape, turned))
	squares := n.w.Apply("MatMul", n.w.Apply("Mul", c.scale, c.scale), n.w.Floats(name+"/halves", shape, halves))
	code = n.w.Node("ArgMin", []string{n.w.Apply("Sub", squares, along)}, file.Attributes{"axis": 1, "keepdims": 0})
	return code, c.vectors(n, n.rows(position, code), "")
}

// turnedAndHalved returns cᵀ and c²/2, [d, K].
func turnedAndHalved(book *weights.Array) (turned, halves []float32) {
	k, d := book.Shape[0], book.Shape[1]
	turned, halves = make([]float32, k*d), make([]float32, k*d)
	for i := range k {
		for j, x := range book.Row(i) {
			turned[j*k+i], halves[j*k+i] = x, x*x/2
		}
	}
	return turned, halves
}

// implicit moves codes by a network of blocks.
type implicit struct {
	at                   string
	position, candidates int
}

// vectors also takes candidates [N, m, d'] with sent [N, 1, d'].
func (c implicit) vectors(n network, codes, sent string) string {
	v := codes
	if n.set[path.Join(c.at, "concat/codes")] != nil {
		v = n.w.Apply("Add", v, n.product(codes, c.at, "concat/codes"))
		v = n.w.Apply("Add", v, n.w.Apply("Add", n.product(sent, c.at, "concat/sent"), n.variable(c.at, "concat/bias")))
	}
	for i := 0; n.set[fmt.Sprintf("%s/block%d/u", c.at, i)] != nil; i++ {
		block := fmt.Sprintf("%s/block%d", c.at, i)
		hidden := n.product(v, block, "p")
		if n.set[block+"/q"] != nil {
			hidden = n.w.Apply("Add", hidden, n.w.Apply("Add", n.product(sent, block, "q"), n.variable(block, "bias")))
		}
		v = n.w.Apply("Add", v, n.product(n.w.Apply("Relu", hidden), block, "u"))
	}
	return v
}

// choose takes the nearest vector of the candidates: the codes whose rows of the shortlist are nearest.
func (c implicit) choose(n network, position int, residual, sent string) (code, vector string) {
	name := path.Join(c.at, "shortlist")
	count := min(max(c.candidates, index.SettledCodes), n.layout.Vocab[position])
	nearest := n.w.Nodes("TopK", 2, []string{n.scores(residual, n.set[name], name), n.w.Ints(count)}, file.Attributes{"axis": 1, "largest": 0})
	proposed := nearest[1] // [N, m]
	inner := n.w.Ints(1)
	vectors := c.vectors(n, n.rows(position, proposed), n.w.Apply("Unsqueeze", sent, inner))
	gap := n.w.Apply("Sub", n.w.Apply("Unsqueeze", residual, inner), vectors)
	distance := n.w.Node("ReduceSum", []string{n.w.Apply("Mul", gap, gap), n.w.Ints(2)}, file.Attributes{"keepdims": 0})
	best := n.w.Node("ArgMin", []string{distance}, file.Attributes{"axis": 1, "keepdims": 1}) // [N, 1]
	code = n.w.Apply("Squeeze", n.w.Node("GatherElements", []string{proposed, best}, file.Attributes{"axis": 1}), inner)
	return code, n.w.Node("GatherND", []string{vectors, best}, file.Attributes{"batch_dims": 1})
}
