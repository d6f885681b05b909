package onnx

import (
	"fmt"
	"path"

	file "github.com/gritvq/gritvq/onnx"
	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// part returns the columns [N, d'] of a part.
func (n network) part(z string, part int) string {
	if n.layout.Parts == 1 {
		return z
	}
	start, end := n.layout.Bounds(part)
	return n.columns(z, start, end)
}

// prepare maps latents [N, d] to the space of the codes.
func (n network) prepare(z string) string {
	q := n.spec.Quantizer
	if q.Transform.RowNorm != transform.RowNormLatent && q.Distance != vq.Cosine {
		return z
	}
	var parts []string
	for part := range n.layout.Parts {
		parts = append(parts, n.w.Node("LpNormalization", []string{n.part(z, part)}, file.Attributes{"axis": -1, "p": 2}))
	}
	return n.beside(1, parts...)
}

// quantize finds the codes [N, positions] of latents [N, d], level by level, and the latents that they stand for.
func (n network) quantize(z string) (codes, quantized string) {
	var all, parts []string
	for part := range n.layout.Parts {
		residual, sent := n.part(z, part), ""
		for level := range n.layout.Levels {
			position := part*n.layout.Levels + level
			code, vector := n.choose(position, residual, sent)
			all = append(all, n.w.Apply("Unsqueeze", code, n.w.Ints(1)))
			if level+1 < n.layout.Levels {
				residual = n.w.Apply("Sub", residual, vector)
			}
			sent = n.sum(sent, vector)
		}
		parts = append(parts, sent)
	}
	return n.beside(1, all...), n.beside(1, parts...)
}

// lookUp returns the latents [N, d] that codes [N, positions] stand for.
func (n network) lookUp(codes string) string {
	var parts []string
	for part := range n.layout.Parts {
		sent := ""
		for level := range n.layout.Levels {
			position := part*n.layout.Levels + level
			code := n.w.Node("Gather", []string{codes, n.w.Int(position)}, file.Attributes{"axis": 1})
			vector := n.rows(position, code)
			if c := n.condition(position); c != nil {
				vector = c.vectors(n, vector, sent)
			}
			sent = n.sum(sent, vector)
		}
		parts = append(parts, sent)
	}
	return n.beside(1, parts...)
}

func (n network) sum(sum, x string) string {
	if sum == "" {
		return x
	}
	return n.w.Apply("Add", sum, x)
}

// slot is that of a position in the phase.
func (n network) slot(position int) int { return n.phase*n.layout.Positions() + position }

// book returns the codebook of a position and its name.
func (n network) book(position int) (book *weights.Array, name string) {
	return n.books[n.slot(position)], fmt.Sprintf("codebook/%d", n.slot(position))
}

// rows gathers codes of a codebook.
func (n network) rows(position int, code string) string {
	book, name := n.book(position)
	return n.w.Node("Gather", []string{n.w.Floats(name, book.Shape, book.Data), code}, file.Attributes{"axis": 0})
}

// at is the path of a position's variable.
func (n network) at(position int, name string) string {
	return path.Join(vq.Prefix, n.layout.Path(n.slot(position)), name)
}

// condition is that of a position's codes on those of earlier levels or of other cells, nil if there is none.
func (n network) condition(position int) condition {
	switch {
	case n.scale != "":
		return scaled{n.part(n.scale, position/n.layout.Levels)}
	case position%n.layout.Levels == 0:
	case n.set[n.at(position, "condition/u")] != nil:
		return affine{n.at(position, "condition")}
	case n.spec.Quantizer.Transform.Conditional():
		return implicit{n.at(position, "condition"), position, n.spec.Quantizer.Transform.Candidates}
	}
	return nil
}

// choose returns the codes [N] of residuals [N, d'] and their vectors.
func (n network) choose(position int, residual, sent string) (code, vector string) {
	if c := n.condition(position); c != nil {
		return c.choose(n, position, residual, sent)
	}
	switch n.spec.Quantizer.Method {
	case vq.FSQ.Name:
		code = n.rounded(position, residual)
	case vq.LFQ.Name:
		code = n.signs(position, residual)
	default:
		book, name := n.book(position)
		code = n.w.Node("ArgMin", []string{n.scores(residual, book, name)}, file.Attributes{"axis": 1, "keepdims": 0})
	}
	return code, n.rows(position, code)
}

// scores are half the squared distances [N, K] of residuals to codes, less those to the codes' mean. Both are measured
// from the mean, which keeps differences of large numbers away.
func (n network) scores(residual string, book *weights.Array, name string) string {
	k, d := book.Shape[0], book.Shape[1]
	mean := make([]float64, d)
	for i, x := range book.Data {
		mean[i%d] += float64(x) / float64(k)
	}
	centre, half, turned := make([]float32, d), make([]float32, k), make([]float32, k*d)
	for j, m := range mean {
		centre[j] = float32(m)
	}
	for i := range k {
		sum := 0.0
		for j, x := range book.Row(i) {
			x -= centre[j]
			turned[j*k+i] = x
			sum += float64(x) * float64(x) / 2
		}
		half[i] = float32(sum)
	}
	residual = n.w.Apply("Sub", residual, n.w.Floats(name+"/mean", []int{d}, centre))
	along := n.w.Apply("MatMul", residual, n.w.Floats(name+"/centred", []int{d, k}, turned))
	return n.w.Apply("Sub", n.w.Floats(name+"/half", []int{k}, half), along)
}

// coordinates maps residuals to those of implicit codes.
func (n network) coordinates(position int, residual string) string {
	if scale := n.at(position, "state/scale"); n.set[scale] != nil {
		return n.w.Apply("Div", residual, n.variable(scale))
	}
	return n.w.Apply("Add", n.product(residual, n.at(position, "project/in")), n.variable(n.at(position, "project/in_bias")))
}

// rounded is the code of method fsq.
func (n network) rounded(position int, residual string) string {
	grid := vq.FSQGrid(n.spec.Quantizer)
	row := func(name string, value func(r vq.FSQRounding) float64) string {
		var values []float32
		for _, r := range grid {
			values = append(values, float32(value(r)))
		}
		return n.w.Floats("fsq/"+name, []int{len(values)}, values)
	}
	y := n.w.Apply("Add", n.coordinates(position, residual), row("shift", func(r vq.FSQRounding) float64 { return r.Shift }))
	y = n.w.Apply("Tanh", y)
	y = n.w.Apply("Mul", y, row("amplitude", func(r vq.FSQRounding) float64 { return r.Amplitude }))
	y = n.w.Apply("Sub", y, row("offset", func(r vq.FSQRounding) float64 { return r.Offset }))
	digits := n.w.Apply("Add", n.w.Apply("Round", y), row("half", func(r vq.FSQRounding) float64 { return r.Half }))
	var sizes []int
	for _, r := range grid {
		sizes = append(sizes, r.Values)
	}
	return n.code(digits, sizes)
}

// signs is the code of method lfq.
func (n network) signs(position int, residual string) string {
	positive := n.w.Apply("Greater", n.coordinates(position, residual), n.w.Float(0))
	var sizes []int
	for size := 1; size < n.layout.Vocab[position]; size *= 2 {
		sizes = append(sizes, 2)
	}
	return n.code(positive, sizes)
}

// code numbers digits [N, w], the first the fastest.
func (n network) code(digits string, sizes []int) string {
	places := make([]int, len(sizes))
	for i, place := 0, 1; i < len(sizes); i, place = i+1, place*sizes[i] {
		places[i] = place
	}
	whole := n.w.Node("Cast", []string{digits}, file.Attributes{"to": int(file.Int64)})
	return n.w.Node("ReduceSum", []string{n.w.Apply("Mul", whole, n.w.Ints(places...)), n.w.Ints(1)}, file.Attributes{"keepdims": 0})
}
