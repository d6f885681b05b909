package index

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// scaledCase is a stack of random codes, rows and positive scales.
func scaledCase(t *testing.T, k, d, levels, n int, kern kernel) (*Scaled, []float32, []float32) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(k), uint64(d)))
	normal := func(n int, std float64) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(std * rng.NormFloat64())
		}
		return x
	}
	var books []*Codes
	for l := range levels {
		rows := normal(k*d, math.Pow(0.6, float64(l)))
		copy(rows[(k-1)*d:], rows[:d]) // a tie
		codes, err := newCodesWith(kern, rows, k, d)
		if err != nil {
			t.Fatal(err)
		}
		books = append(books, codes)
	}
	q, err := NewScaled(books...)
	if err != nil {
		t.Fatal(err)
	}
	scale := normal(n*d, 0.5)
	for i := range scale {
		scale[i] = float32(math.Exp(float64(scale[i])))
	}
	return q, normal(n*d, 1), scale
}

// Every level finds the nearest scaled code, by definition in float64, with every kernel
// and any number of workers; ties go to the lowest code.
func TestScaledIsBruteForce(t *testing.T) {
	for _, kern := range supportedKernels() {
		for _, size := range [][3]int{{2, 1, 1}, {33, 5, 2}, {300, 16, 3}, {70, 33, 1}} { // codes, dimension, levels
			const n = 61
			q, x, scale := scaledCase(t, size[0], size[1], size[2], n, kern)
			d, levels := size[1], size[2]
			codes := make([]uint32, n*levels)
			q.Encode(x, scale, n, 0, 1, codes, 3)
			for i := range n {
				rest, own := slices.Clone(x[i*d:(i+1)*d]), scale[i*d:(i+1)*d]
				for l := range levels {
					best, least := uint32(0), math.Inf(1)
					for c := range size[0] {
						if s := scaledDistance(rest, own, q.levels[l].Row(c)); s < least {
							best, least = uint32(c), s
						}
					}
					if got := codes[i*levels+l]; got != best {
						t.Fatalf("%s %v: row %d level %d has code %d, the nearest is %d", kern.name, size, i, l, got, best)
					}
					subtractScaled(rest, rest, own, q.levels[l].Row(int(best)))
				}
			}
			alone := make([]uint32, levels)
			for i := range n {
				q.Encode(x[i*d:(i+1)*d], scale[i*d:(i+1)*d], 1, 0, 1, alone, 1)
				if !slices.Equal(alone, codes[i*levels:(i+1)*levels]) {
					t.Fatalf("row %d alone has codes %v, among others %v", i, alone, codes[i*levels:(i+1)*levels])
				}
			}
		}
	}
}

// With scales of 1 codes are those of plain residual encoding, greedy and with a beam.
func TestScaledByOneIsPlain(t *testing.T) {
	const n, d, levels = 50, 7, 3
	q, x, _ := scaledCase(t, 40, d, levels, n, bestKernel)
	ones := slices.Repeat([]float32{1}, n*d)
	for _, beam := range []int{1, 4, 64} {
		got, want := make([]uint32, n*levels), make([]uint32, n*levels)
		q.Encode(x, ones, n, 0, beam, got, 0)
		q.plain.Encode(x, n, 0, beam, want, 0)
		if !slices.Equal(got, want) {
			t.Errorf("beam %d: codes differ", beam)
		}
	}
}

// A beam that keeps every encoding finds the best one; a narrow one is never worse than greedy.
func TestScaledBeam(t *testing.T) {
	const n, d, k = 40, 4, 9
	q, x, scale := scaledCase(t, k, d, 2, n, bestKernel)
	greedy, narrow, all := make([]uint32, 2*n), make([]uint32, 2*n), make([]uint32, 2*n)
	q.Encode(x, scale, n, 0, 1, greedy, 0)
	q.Encode(x, scale, n, 0, 3, narrow, 0)
	q.Encode(x, scale, n, 0, k*k, all, 0)
	improved := 0
	for i := range n {
		row, own := x[i*d:(i+1)*d], scale[i*d:(i+1)*d]
		least := math.Inf(1)
		for a := range uint32(k) {
			for b := range uint32(k) {
				least = min(least, q.squaredError(row, own, []uint32{a, b}))
			}
		}
		first, second := q.squaredError(row, own, greedy[2*i:2*i+2]), q.squaredError(row, own, narrow[2*i:2*i+2])
		if second > first {
			t.Errorf("row %d: a beam has error %g, greedy %g", i, second, first)
		}
		if second < first {
			improved++
		}
		if got := q.squaredError(row, own, all[2*i:2*i+2]); got != least {
			t.Errorf("row %d: the whole beam has error %g, the best is %g", i, got, least)
		}
	}
	if improved == 0 {
		t.Error("a beam of 3 improves nothing")
	}
}

func TestScaledProductIsItsParts(t *testing.T) {
	const n = 20
	a, x, s := scaledCase(t, 12, 3, 2, n, bestKernel)
	b, y, r := scaledCase(t, 12, 2, 2, n, bestKernel)
	p, err := NewScaledProduct(a, b)
	if err != nil {
		t.Fatal(err)
	}
	var both, scales []float32
	for i := range n {
		both = append(append(both, x[3*i:3*i+3]...), y[2*i:2*i+2]...)
		scales = append(append(scales, s[3*i:3*i+3]...), r[2*i:2*i+2]...)
	}
	codes, first, second := make([]uint32, 4*n), make([]uint32, 2*n), make([]uint32, 2*n)
	p.Encode(both, scales, n, 0, 1, codes, 2)
	a.Encode(x, s, n, 0, 1, first, 1)
	b.Encode(y, r, n, 0, 1, second, 1)
	for i := range n {
		if want := append(slices.Clone(first[2*i:2*i+2]), second[2*i:2*i+2]...); !slices.Equal(codes[4*i:4*i+4], want) {
			t.Fatalf("row %d has codes %v, want %v", i, codes[4*i:4*i+4], want)
		}
	}
	if _, err := NewScaledProduct(); err == nil {
		t.Error("a product of nothing")
	}
}

func TestScaledRowsThatAreNotFinite(t *testing.T) {
	q, x, scale := scaledCase(t, 40, 5, 2, 9, bestKernel)
	x[0], x[5], scale[10] = float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(1))
	x[16] = 3e37
	codes := make([]uint32, 18)
	q.Encode(x, scale, 9, 0, 1, codes, 1)
	if !slices.Equal(codes[:6], make([]uint32, 6)) {
		t.Errorf("codes %v of rows that are not finite", codes[:6])
	}
	best, _ := q.levels[0].best(x[15:20], scale[15:20], 0, 1, 0, math.Inf(1))
	if codes[6] != best {
		t.Errorf("a distant row has code %d, want %d", codes[6], best)
	}
}

func BenchmarkScaled(b *testing.B) {
	const k, d, n = 4096, 64, 1024
	rng := rand.New(rand.NewPCG(1, 2))
	x, scale, rows := make([]float32, n*d), make([]float32, n*d), make([]float32, k*d)
	for _, v := range [][]float32{x, rows} {
		for i := range v {
			v[i] = float32(rng.NormFloat64())
		}
	}
	for i := range scale {
		scale[i] = float32(math.Exp(0.3 * rng.NormFloat64()))
	}
	codes, err := NewCodes(rows, k, d)
	if err != nil {
		b.Fatal(err)
	}
	q, _ := NewScaled(codes)
	out := make([]uint32, n)
	for _, scaled := range []bool{false, true} {
		b.Run(fmt.Sprintf("scaled=%v", scaled), func(b *testing.B) {
			for b.Loop() {
				if scaled {
					q.Encode(x, scale, n, 0, 1, out, 1)
				} else {
					codes.Nearest(x, n, out, nil, 1)
				}
			}
		})
	}
}
