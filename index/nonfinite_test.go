package index

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Rows with a NaN or an infinity get zeros from every search, whatever its beam, and the
// rows beside them keep their codes.
func TestRowsThatAreNotFiniteGetZeros(t *testing.T) {
	const k, d, h, levels, rows = 40, 6, 8, 3, 3
	rng := rand.New(rand.NewPCG(1, 2))
	normal := func(n int, deviation float64) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(deviation * rng.NormFloat64())
		}
		return x
	}
	var books []*Codes
	for range levels {
		codes, err := NewCodes(normal(k*d, 1), k, d)
		if err != nil {
			t.Fatal(err)
		}
		books = append(books, codes)
	}
	conditional := func(c Condition) (*Residual, error) { return NewConditional(books, []Condition{nil, c, c}) }
	block := Block{Hidden: h, P: normal(d*h, 0.3), Q: normal(d*h, 0.3), Bias: normal(h, 0.3), U: normal(h*d, 0.3)}
	shortlist := normal(k*d, 1)
	scale := make([]float32, rows*d)
	for i := range scale {
		scale[i] = 1 + rng.Float32()
	}
	type encode = func(x []float32, beam int, out []uint32)
	of := func(q *Residual, err error) encode {
		if err != nil {
			t.Fatal(err)
		}
		return func(x []float32, beam int, out []uint32) { q.Encode(x, rows, 0, beam, out, 0) }
	}
	scaled, err := NewScaled(books...)
	if err != nil {
		t.Fatal(err)
	}
	searches := map[string]encode{
		"residual": of(NewResidual(books...)),
		"local":    of(NewLocal(books...)),
		"affine":   of(conditional(Affine{Hidden: h, Q: normal(d*h, 0.3), Bias: normal(h, 0.3), U: normal(2*d*h, 0.3)})),
		"implicit": of(conditional(Implicit{Blocks: []Block{block}, Shortlist: shortlist, Candidates: k})),
		"listed":   of(conditional(Implicit{Blocks: []Block{block}, Shortlist: shortlist, Candidates: 8})),
		"scaled":   func(x []float32, beam int, out []uint32) { scaled.Encode(x, scale, rows, 0, beam, out, 0) },
	}
	for name, encode := range searches {
		for _, beam := range []int{1, 5, 3 * k} {
			x := normal(rows*d, 1)
			before, after := make([]uint32, rows*levels), make([]uint32, rows*levels)
			encode(x, beam, before)
			for column := range d {
				kept := x[d+column]
				for _, v := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
					x[d+column] = float32(v)
					encode(x, beam, after)
					for i, code := range after {
						want := before[i]
						if i/levels == 1 {
							want = 0
						}
						if code != want {
							t.Fatalf("%s, beam %d, %g in column %d: codes %v, those of finite rows are %v", name, beam, v, column, after, before)
						}
					}
				}
				x[d+column] = kept
			}
		}
	}
}
