package index

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// newResidual builds an encoder with random codes, finer at each level.
func newResidual(t testing.TB, kern kernel, seed uint64, d int, sizes ...int) *Residual {
	t.Helper()
	var levels []*Codes
	for l, k := range sizes {
		rows := normals(seed+uint64(l), k*d)
		for i := range rows {
			rows[i] = rows[i]*float32(math.Pow(0.6, float64(l))) + 0.25
		}
		codes, err := newCodesWith(kern, rows, k, d)
		if err != nil {
			t.Fatal(err)
		}
		levels = append(levels, codes)
	}
	q, err := NewResidual(levels...)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// rowErrors decodes and returns the squared error of every row.
func rowErrors(t *testing.T, q *Residual, x []float32, codes []uint32, n, levels int) []float64 {
	t.Helper()
	decoded := make([]float32, n*q.d)
	if err := q.Decode(codes, n, levels, decoded); err != nil {
		t.Fatal(err)
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = SquaredDistance(x[i*q.d:(i+1)*q.d], decoded[i*q.d:(i+1)*q.d])
	}
	return out
}

func TestResidualGreedyMatchesDefinition(t *testing.T) {
	const n, d = 150, 10
	x := normals(1, n*d)
	for _, kern := range supportedKernels() {
		q := newResidual(t, kern, 5, d, 20, 33, 64)
		got := make([]uint32, n*3)
		q.Encode(x, n, 3, 1, got, 2)
		left := slices.Clone(x)
		for l := range 3 {
			codes := q.Level(l)
			want, _ := bruteForce(left, codes.rows, n, codes.k, d)
			for i, code := range want {
				if got[i*3+l] != code {
					t.Fatalf("%s: row %d, level %d: code %d, want %d", kern.name, i, l, got[i*3+l], code)
				}
				for j, v := range codes.Row(int(code)) {
					left[i*d+j] -= v
				}
			}
		}
	}
}

func TestResidualEncodeSameEverywhere(t *testing.T) {
	const d, levels = 24, 3
	for _, p := range hardProblems() {
		if p.d != d {
			t.Fatal("the problems have changed shape")
		}
		for _, beam := range []int{1, 2, 5, 40} {
			var want []uint32
			for _, kern := range supportedKernels() {
				first, err := newCodesWith(kern, p.rows, p.k, p.d)
				if err != nil {
					t.Fatal(err)
				}
				fine := newResidual(t, kern, 7, d, 40, 16)
				q, err := NewResidual(first, fine.Level(0), fine.Level(1))
				if err != nil {
					t.Fatal(err)
				}
				for _, split := range []int{p.n, 5} {
					for _, workers := range []int{1, 3} {
						got := make([]uint32, p.n*levels)
						for from := 0; from < p.n; from += split {
							count := min(split, p.n-from)
							q.Encode(p.x[from*d:], count, 0, beam, got[from*levels:], workers)
						}
						if want == nil {
							want = got
						}
						if !slices.Equal(got, want) {
							t.Errorf("%s, beam %d: %s kernel, batches of %d, %d workers give other codes", p.name, beam, kern.name, split, workers)
						}
					}
				}
			}
		}
	}
}

func TestBeamIsNeverWorseThanGreedy(t *testing.T) {
	const n, d, levels = 200, 16, 4
	x := normals(3, n*d)
	q := newResidual(t, bestKernel, 20, d, 32, 32, 32, 32)
	codes := make([]uint32, n*levels)
	q.Encode(x, n, levels, 1, codes, 0)
	greedy := rowErrors(t, q, x, codes, n, levels)
	last := math.Inf(1)
	for _, beam := range []int{2, 5, 16} {
		q.Encode(x, n, levels, beam, codes, 0)
		total := 0.0
		for i, s := range rowErrors(t, q, x, codes, n, levels) {
			total += s
			if s > greedy[i] {
				t.Errorf("beam %d, row %d: error %v, greedy has %v", beam, i, s, greedy[i])
			}
		}
		if total >= last {
			t.Errorf("beam %d: total error %v is no better than the narrower beam's %v", beam, total, last)
		}
		last = total
	}
}

func TestWideBeamIsExhaustive(t *testing.T) {
	const n, d, k, levels = 40, 4, 5, 3
	x := normals(4, n*d)
	for _, kern := range supportedKernels() {
		q := newResidual(t, kern, 30, d, k, k, k)
		codes := make([]uint32, n*levels)
		q.Encode(x, n, levels, k*k, codes, 0)
		improved := false
		greedy := make([]uint32, n*levels)
		q.Encode(x, n, levels, 1, greedy, 0)
		decoded := make([]float32, d)
		for i := range n {
			least, want := math.Inf(1), []uint32(nil)
			for c := range uint32(k * k * k) {
				path := []uint32{c / (k * k), c / k % k, c % k}
				if s := q.squaredError(x[i*d:(i+1)*d], path, decoded); s < least {
					least, want = s, path
				}
			}
			if got := codes[i*levels : (i+1)*levels]; !slices.Equal(got, want) {
				t.Errorf("%s: row %d has codes %v, the best are %v", kern.name, i, got, want)
			}
			improved = improved || !slices.Equal(greedy[i*levels:(i+1)*levels], want)
		}
		if !improved {
			t.Error("greedy is already optimal everywhere: the test shows nothing")
		}
	}
}

func TestResidualPrefixLevels(t *testing.T) {
	const n, d = 30, 6
	x := normals(8, n*d)
	q := newResidual(t, bestKernel, 40, d, 9, 9, 9)
	all, two := make([]uint32, n*3), make([]uint32, n*2)
	q.Encode(x, n, 0, 1, all, 0)
	q.Encode(x, n, 2, 1, two, 0)
	for i := range n {
		if !slices.Equal(all[i*3:i*3+2], two[i*2:i*2+2]) {
			t.Fatalf("row %d: two levels give %v, three begin %v", i, two[i*2:i*2+2], all[i*3:i*3+3])
		}
	}
}

func TestResidualDecodeOrder(t *testing.T) {
	// 1e8 + 1 + (-1e8) is 0 in this order of float32 additions, 1 in another.
	var levels []*Codes
	for _, v := range []float32{1e8, 1, -1e8} {
		codes, err := NewCodes([]float32{v}, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		levels = append(levels, codes)
	}
	q, err := NewResidual(levels...)
	if err != nil {
		t.Fatal(err)
	}
	out := []float32{7}
	if err := q.Decode([]uint32{0, 0, 0}, 1, 3, out); err != nil || out[0] != 0 {
		t.Errorf("decoded %v, %v; want 0", out, err)
	}
}

func TestResidualErrors(t *testing.T) {
	a, _ := NewCodes([]float32{1, 2}, 1, 2)
	b, _ := NewCodes([]float32{1, 2, 3}, 1, 3)
	for _, c := range []struct {
		levels []*Codes
		want   string
	}{
		{nil, "at least one level"},
		{[]*Codes{a, nil}, "level 1"},
		{[]*Codes{a, b}, "dimension 3, level 0 has 2"},
	} {
		if _, err := NewResidual(c.levels...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one about %q", err, c.want)
		}
	}
	q, _ := NewResidual(a)
	if err := q.Decode([]uint32{0, 1}, 2, 1, make([]float32, 4)); err == nil || !strings.Contains(err.Error(), "row 1: code 1 of level 0") {
		t.Errorf("code outside the codebook: %v", err)
	}
	for _, call := range []func(){
		func() { q.Encode(make([]float32, 2), 1, 2, 1, make([]uint32, 2), 1) },
		func() { q.Encode(make([]float32, 1), 1, 1, 1, make([]uint32, 1), 1) },
		func() { _ = q.Decode(make([]uint32, 1), 1, 1, make([]float32, 1)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a wrong size was accepted")
				}
			}()
			call()
		}()
	}
}

func TestEncodeNonFiniteRow(t *testing.T) {
	q := newResidual(t, bestKernel, 50, 2, 4, 4)
	for _, beam := range []int{1, 3} {
		codes := []uint32{9, 9, 9, 9}
		q.Encode([]float32{float32(math.NaN()), 0, float32(math.Inf(1)), 1}, 2, 2, beam, codes, 1)
		if !slices.Equal(codes, []uint32{0, 0, 0, 0}) {
			t.Errorf("beam %d: codes %v, want zeros", beam, codes)
		}
	}
}

// A beam wider than all encodings keeps them all, in the order of their errors;
// a narrower one keeps the best of one level.
func TestSurvivors(t *testing.T) {
	const n, d, k = 30, 3, 4
	first, err := NewCodes(normals(1, k*d), k, d)
	if err != nil {
		t.Fatal(err)
	}
	second, err := NewCodes(normals(2, k*d), k, d)
	if err != nil {
		t.Fatal(err)
	}
	x := normals(3, n*d)
	for _, c := range []struct {
		levels         []*Codes
		beam, distinct int
	}{{[]*Codes{first}, 3, 3}, {[]*Codes{first}, 6, 4}, {[]*Codes{first, second}, 20, 16}} {
		q, err := NewResidual(c.levels...)
		if err != nil {
			t.Fatal(err)
		}
		levels := len(c.levels)
		out := make([]uint32, n*c.beam*levels)
		q.Survivors(x, n, c.beam, out, 3)
		for i := range n {
			row, seen, last := x[i*d:(i+1)*d], map[string]bool{}, -1.0
			var errors []float64
			for b := range c.beam {
				path := out[(i*c.beam+b)*levels : (i*c.beam+b+1)*levels]
				gap := q.squaredError(row, path, make([]float32, d))
				if gap < last-1e-5 {
					t.Fatalf("row %d: survivor %d has error %g after %g", i, b, gap, last)
				}
				last = gap
				seen[fmt.Sprint(path)] = true
				errors = append(errors, gap)
			}
			if len(seen) != c.distinct {
				t.Fatalf("row %d: %d survivors differ, want %d", i, len(seen), c.distinct)
			}
			if c.levels[len(c.levels)-1] == first { // no code left out is nearer than one kept
				for code := range uint32(k) {
					if gap := q.squaredError(row, []uint32{code}, make([]float32, d)); !seen[fmt.Sprint([]uint32{code})] &&
						gap < errors[c.distinct-1]-1e-5 {
						t.Fatalf("row %d: code %d is nearer than a survivor", i, code)
					}
				}
			}
		}
	}
}
