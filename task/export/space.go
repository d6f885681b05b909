package export

import (
	"errors"
	"fmt"
	"math"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/export/faiss"
	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// space says how vectors become those that the codes of an index stand for.
type space struct {
	transforms []faiss.Transform
	scale      float32 // of the codes
	note       string  // empty where FAISS decodes to vectors
}

// indexSpace expresses a tokenizer's encoder by transforms of FAISS.
//
// One scale for all dimensions multiplies the codes instead of dividing the vectors: FAISS undoes rotations and shifts
// only, so this is what lets it decode.
func indexSpace(b *bundle.Bundle) (space, error) {
	model, dim := b.Tokenizer.Spec.Model, b.Tokenizer.Dim()
	mean, scale := b.Weights["state/mean"].Data, b.Weights["state/scale"].Data
	unit := b.Tokenizer.Spec.Quantizer.Transform.RowNorm == transform.RowNormLatent || b.Tokenizer.Spec.Quantizer.Distance == vq.Cosine
	if unit && b.Tokenizer.Quantizer.Layout().Parts > 1 {
		return space{}, errors.New("every part of its latents is normalised, and FAISS normalises whole vectors")
	}
	if len(model.Hidden) > 0 {
		return space{scale: 1, note: fmt.Sprintf("the encoder is a network, so the index holds latents of %d dimensions, not vectors: "+
			"encode queries first, with encoder.onnx or the Python package", dim)}, nil
	}
	s := space{scale: 1}
	if !zero(mean) {
		s.add(faiss.Transform{In: len(mean), Out: len(mean), Mean: mean})
	}
	single := constant(scale)
	matrix, bias, inverse := linearEncoder(b)
	switch {
	case single && !unit && matrix == nil:
		s.scale = scale[0]
		return s, nil
	case single && !unit && inverse:
		s.scale = scale[0]
		s.add(faiss.Transform{In: len(mean), Out: dim, Matrix: matrix, Bias: times(bias, scale[0])})
		return s, nil
	case matrix == nil && !(single && unit):
		matrix = weights.Eye(dim).Data
	}
	if matrix != nil {
		for i := range matrix {
			matrix[i] /= scale[i%len(scale)]
		}
		s.add(faiss.Transform{In: len(mean), Out: dim, Matrix: matrix, Bias: bias})
	}
	if unit {
		s.add(faiss.Transform{In: dim, Out: dim, Unit: true})
	}
	s.note = "FAISS searches among the latents of vectors and decodes codes to latents; gritvq decode gives vectors"
	return s, nil
}

func (s *space) add(t faiss.Transform) { s.transforms = append(s.transforms, t) }

// linearEncoder returns the matrix [d, input] and the bias [d] of an encoder without hidden layers, nil if it is the
// identity. inverse says that the decoder is its transpose, and both are orthonormal.
func linearEncoder(b *bundle.Bundle) (matrix, bias []float32, inverse bool) {
	if r := b.Weights["state/rotation"]; r != nil {
		return transposed(r), nil, faiss.Transform{In: r.Shape[0], Out: r.Shape[1], Matrix: transposed(r)}.Orthonormal()
	}
	in := b.Weights["encoder/layer0/weights"]
	if in == nil {
		return nil, nil, true
	}
	matrix, bias = transposed(in), b.Weights["encoder/layer0/bias"].Data
	out, shift := b.Weights["decoder/layer0/weights"].Data, b.Weights["decoder/layer0/bias"].Data
	inverse = faiss.Transform{In: in.Shape[0], Out: in.Shape[1], Matrix: matrix}.Orthonormal()
	for i, x := range matrix {
		inverse = inverse && near(x, out[i])
	}
	for j := range shift { // the decoder's bias undoes the encoder's
		sum := float32(0)
		for i, x := range bias {
			sum += x * matrix[i*len(shift)+j]
		}
		inverse = inverse && near(shift[j], -sum)
	}
	if zero(bias) {
		bias = nil
	}
	return matrix, bias, inverse
}

// near bounds the difference of values of about 1 that stand for the same.
func near(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-6 }

func transposed(a *weights.Array) []float32 {
	rows, columns := a.Shape[0], a.Shape[1]
	out := make([]float32, len(a.Data))
	for i := range rows {
		for j := range columns {
			out[j*rows+i] = a.Data[i*columns+j]
		}
	}
	return out
}

func zero(values []float32) bool { return constant(values) && values[0] == 0 }

func constant(values []float32) bool {
	for _, x := range values {
		if x != values[0] {
			return false
		}
	}
	return true
}

func times(values []float32, factor float32) []float32 {
	if values == nil {
		return nil
	}
	out := make([]float32, len(values))
	for i, x := range values {
		out[i] = x * factor
	}
	return out
}
