package faiss

import (
	"errors"
	"math"
	"slices"
)

// Undo changes the codes to stand for vectors as they are before the transforms, which it removes. It fails where a
// transform cannot be undone by changing codes.
func (x *Index) Undo() error {
	for _, t := range slices.Backward(x.Transforms) {
		switch {
		case t.Mean != nil:
			x.shift(t.Mean, 1)
		case t.Unit:
			return errors.New("its vectors are normalised: codes of their lengths were not stored")
		case !t.Orthonormal():
			return errors.New("its linear transform is not orthonormal, so that vectors cannot be computed from codes")
		case x.Product:
			return errors.New("its parts lie in rotated vectors, and parts of the tokenizer in the vectors themselves; train with --method opq")
		default:
			if t.Bias != nil {
				x.shift(t.Bias, -1)
			}
			x.turnBack(t)
		}
		x.Transforms = x.Transforms[:len(x.Transforms)-1]
	}
	return nil
}

// shift adds a multiple of a vector to the decoded vectors.
func (x *Index) shift(by []float32, factor float32) {
	for position, book := range x.Books {
		from := 0
		if x.Product {
			from = position * x.Width()
		} else if position > 0 { // later levels are added to the first
			break
		}
		for i := range book {
			book[i] += factor * by[from+i%x.Width()]
		}
	}
}

// turnBack multiplies the codes by A, which undoes x Aᵀ.
func (x *Index) turnBack(t Transform) {
	for position, book := range x.Books {
		turned := make([]float32, len(book)/t.Out*t.In)
		for code := range len(book) / t.Out {
			for j := range t.In {
				sum := 0.0
				for i := range t.Out {
					sum += float64(book[code*t.Out+i]) * float64(t.Matrix[i*t.In+j])
				}
				turned[code*t.In+j] = float32(sum)
			}
		}
		x.Books[position] = turned
	}
	x.Dim = t.In
}

// orthonormalTolerance is that of FAISS.
const orthonormalTolerance = 4e-5

// Orthonormal says whether FAISS can undo the transform: the rows of its matrix are orthonormal.
func (t Transform) Orthonormal() bool {
	for i := range t.Out {
		for j := range i + 1 {
			want, sum := 0.0, 0.0
			if i == j {
				want = 1
			}
			for k := range t.In {
				sum += float64(t.Matrix[i*t.In+k]) * float64(t.Matrix[j*t.In+k])
			}
			if !(math.Abs(sum-want) <= orthonormalTolerance) {
				return false
			}
		}
	}
	return t.Out <= t.In
}
