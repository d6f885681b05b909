package onnx

import (
	"fmt"
	"path"

	file "github.com/gritvq/gritvq/onnx"
	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/vq"
)

// quantizeGrid is quantize for latents of vectors [N, d] or of a grid [batch, rows, columns, d].
func (n network) quantizeGrid(latents string) (codes, quantized string) {
	z := n.flat(latents, n.layout.Dim)
	if n.layout.Phases == 0 {
		codes, quantized = n.quantize(z)
		return n.shaped(codes, latents, n.layout.Positions()), n.shaped(quantized, latents, n.layout.Dim)
	}
	return n.inPhases(latents, func(own network, shift string) (codes, vectors string) {
		if shift == "" {
			return own.quantize(z)
		}
		return own.quantize(n.w.Apply("Sub", z, shift))
	})
}

// lookUpGrid is lookUp for codes [N, positions] or those of a grid [batch, rows, columns, positions].
func (n network) lookUpGrid(codes string) string {
	flat := n.flat(codes, n.layout.Positions())
	if n.layout.Phases == 0 {
		return n.shaped(n.lookUp(flat), codes, n.layout.Dim)
	}
	_, quantized := n.inPhases(codes, func(own network, _ string) (string, string) { return flat, own.lookUp(flat) })
	return quantized
}

// inPhases codes the cells of a grid, that of like [batch, rows, columns, ..], phase after phase. choose returns codes
// [N, positions] and their vectors [N, d] for all cells, of which those of the phase are taken. They stand for vectors
// less the shift [N, d], "" where there is none.
func (n network) inPhases(like string, choose func(own network, shift string) (codes, vectors string)) (codes, quantized string) {
	row := n.w.Apply("Unsqueeze", n.count(n.size(like, 1)), n.w.Ints(1))
	two := n.w.Int(2)
	phase := n.w.Apply("Mod", n.w.Apply("Add", row, n.count(n.size(like, 2))), two) // [rows, columns], as package phase has it
	if n.layout.Phases == 4 {
		phase = n.w.Apply("Add", n.w.Apply("Mul", phase, two), n.w.Apply("Mod", row, two))
	}
	phase = n.w.Apply("Unsqueeze", phase, n.w.Ints(2))
	for p := range n.layout.Phases {
		own, shift := n, ""
		own.phase = p
		if p > 0 && n.set[own.context("last/weights")] != nil {
			shift, own.scale = own.around(quantized, n.w.Apply("Less", phase, n.w.Int(p)))
		}
		c, v := choose(own, shift)
		if shift != "" {
			v = n.w.Apply("Add", shift, v)
		}
		c, v = n.shaped(c, like, n.layout.Positions()), n.shaped(v, like, n.layout.Dim)
		here, before := n.w.Apply("Equal", phase, n.w.Int(p)), n.w.Float(0)
		if p > 0 {
			c, before = n.w.Apply("Where", here, c, codes), quantized
		}
		codes, quantized = c, n.w.Apply("Where", here, v, before)
	}
	return codes, quantized
}

// context is the path of a variable of the phase's context.
func (n network) context(elements ...string) string {
	return path.Join(append([]string{vq.Prefix, fmt.Sprintf("phase%d", n.phase), "condition"}, elements...)...)
}

// around returns the shift and the scale [N, d] of all cells, given the quantized latents [batch, rows, columns, d] and
// which cells were sent [rows, columns, 1].
func (n network) around(quantized, sent string) (shift, scale string) {
	ones := n.w.Apply("Expand", n.float(sent), n.beside(0, n.leading(quantized), n.w.Ints(1)))
	x, d := n.channelsFirst(n.beside(3, quantized, ones)), n.layout.Dim
	for i, outside := range []int{transform.ContextReach, 0} {
		x = n.gelu(n.convolvePadded(x, n.context(fmt.Sprintf("conv%d", i)), 1, []int{outside, outside, outside, outside}))
	}
	width := n.set[n.context("last/weights")].Shape[0]
	out := n.w.Apply("Add", n.product(n.flat(n.channelsLast(x), width), n.context("last/weights")), n.variable(n.context("last/bias")))
	return n.columns(out, 0, d), n.w.Apply("Exp", n.scalar("Mul", n.w.Apply("Tanh", n.columns(out, d, 2*d)), transform.ScaleRange))
}

// leading are the sizes of the axes of a grid before the last.
func (n network) leading(x string) string {
	return n.w.Node("Shape", []string{x}, file.Attributes{"start": 0, "end": 3})
}
