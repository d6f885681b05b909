package index

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func newAdditive(t testing.TB, kern kernel, seed uint64, d int, sizes ...int) *Additive {
	t.Helper()
	q, err := NewAdditive(newResidual(t, kern, seed, d, sizes...).levels...)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// The tables hold the products of the codes, and equal codes share a place.
func TestAdditiveProducts(t *testing.T) {
	const d = 7
	for _, kern := range supportedKernels() {
		rows := normals(3, 40*d)
		copy(rows[20*d:21*d], rows[:d]) // an equal code
		first, err := newCodesWith(kern, rows, 40, d)
		if err != nil {
			t.Fatal(err)
		}
		q, err := NewAdditive(first, newResidual(t, kern, 9, d, 33).levels[0])
		if err != nil {
			t.Fatal(err)
		}
		if q.place[0][20] != 0 {
			t.Errorf("%s: the copy of code 0 has place %d", kern.name, q.place[0][20])
		}
		for a := range 2 {
			from, to := q.levels[a], q.levels[1-a]
			for i := range from.k {
				for j := range to.k {
					want := 0.0
					for k, v := range from.Row(i) {
						want += float64(v) * float64(to.Row(j)[k])
					}
					got := q.products[a][1-a][int(q.place[a][i])*len(to.half)+int(q.place[1-a][j])]
					if math.Abs(float64(got)-want) > 1e-5 {
						t.Fatalf("%s: <%d,%d> of level %d is %g, want %g", kern.name, i, j, a, got, want)
					}
				}
			}
		}
	}
}

// A beam as wide as all encodings finds the best ones, in order, with their gaps.
func TestAdditiveSurvivorsMatchBruteForce(t *testing.T) {
	const n, d, keep = 30, 6, 5
	x := normals(1, n*d)
	for _, kern := range supportedKernels() {
		q := newAdditive(t, kern, 4, d, 6, 5, 4)
		codes, gaps := make([]uint32, n*keep*3), make([]float32, n*keep)
		must(t, q.Survivors(t.Context(), x, n, 6*5*4, keep, codes, gaps, 2))
		for i := range n {
			row := x[i*d : (i+1)*d]
			var errors []float64
			for code := range uint32(6 * 5 * 4) {
				errors = append(errors, q.squaredError(row, []uint32{code / 20, code / 4 % 5, code % 4}, make([]float32, d)))
			}
			slices.Sort(errors)
			for b := range keep {
				got := q.squaredError(row, codes[(i*keep+b)*3:(i*keep+b+1)*3], make([]float32, d))
				if math.Abs(got-errors[b]) > 1e-4 || math.Abs(float64(gaps[i*keep+b])-(got-errors[0])) > 1e-4 {
					t.Fatalf("%s: encoding %d of row %d has error %g and gap %g, the best are %g", kern.name, b, i, got, gaps[i*keep+b], errors[:keep])
				}
			}
		}
	}
}

// Survivors do not depend on the batch or the workers and agree on all kernels; the
// beam of Residual, which decodes, finds encodings of the same errors.
func TestAdditiveSurvivorsAgree(t *testing.T) {
	const n, d, keep = 150, 24, 3
	x := normals(1, n*d)
	var want []uint32
	for _, kern := range supportedKernels() {
		q := newAdditive(t, kern, 4, d, 40, 70, 33, 64)
		codes, gaps := make([]uint32, n*keep*4), make([]float32, n*keep)
		must(t, q.Survivors(t.Context(), x, n, 8, keep, codes, gaps, 3))
		if want == nil {
			want = slices.Clone(codes)
		}
		one := make([]uint32, keep*4)
		for i := range n {
			must(t, q.Survivors(t.Context(), x[i*d:], 1, 8, keep, one, gaps, 1))
			if !slices.Equal(one, want[i*keep*4:(i+1)*keep*4]) {
				t.Fatalf("%s: row %d is encoded as %v, in a batch as %v", kern.name, i, one, want[i*keep*4:(i+1)*keep*4])
			}
		}
		decoded := make([]uint32, n*keep*4)
		q.Residual.Survivors(x, n, keep, decoded, 0)
		must(t, q.Survivors(t.Context(), x, n, keep, keep, codes, gaps, 0))
		byTables, byDecoding := rowErrors(t, q.Residual, repeated(x, n, d, keep), codes, n*keep, 4), rowErrors(t, q.Residual,
			repeated(x, n, d, keep), decoded, n*keep, 4)
		for i := range byTables {
			if math.Abs(byTables[i]-byDecoding[i]) > 1e-4 {
				t.Fatalf("%s: encoding %d has error %g, by decoding %g", kern.name, i, byTables[i], byDecoding[i])
			}
		}
	}
}

// repeated returns every row copies times.
func repeated(x []float32, n, d, copies int) []float32 {
	var out []float32
	for i := range n {
		out = append(out, slices.Repeat(x[i*d:(i+1)*d], copies)...)
	}
	return out
}

func TestAdditiveLimits(t *testing.T) {
	if !TablesFit(1<<16, 1) || !TablesFit(256, 32) || TablesFit(1<<16, 2) {
		t.Error("tables of 2 x 65536 codes fit, or smaller ones do not")
	}
	if _, err := NewAdditive(); err == nil {
		t.Error("no levels are accepted")
	}
}

// Many rounds of Refit reach the ridge solution (B'WB + ridge) C = B'WX of the one-hot
// matrix B of all levels, and no round raises the objective.
func TestRefitIsLeastSquares(t *testing.T) {
	const n, d, k, levels, copies = 60, 40, 4, 3, 2
	ridge := []float64{0.7, 0, 3}
	rng := rand.New(rand.NewPCG(1, 2))
	x := normals(5, n*d)
	codes, weights := make([]uint32, n*copies*levels), make([]float32, n*copies)
	design := mat.NewDense(n*copies, k*levels, nil)
	targets := mat.NewDense(n*copies, d, nil)
	for i := range weights {
		weights[i] = float32(rng.IntN(3)) / 2
		root := math.Sqrt(float64(weights[i]))
		for l := range levels {
			code := rng.IntN(k)
			codes[i*levels+l] = uint32(code)
			design.Set(i, l*k+code, root)
		}
		for j := range d {
			targets.Set(i, j, root*float64(x[i/copies*d+j]))
		}
	}
	gram, right, want := mat.NewDense(k*levels, k*levels, nil), mat.NewDense(k*levels, d, nil), mat.NewDense(k*levels, d, nil)
	gram.Mul(design.T(), design)
	for i := range k * levels {
		gram.Set(i, i, gram.At(i, i)+ridge[i/k])
	}
	right.Mul(design.T(), targets)
	if err := want.Solve(gram, right); err != nil {
		t.Fatal(err)
	}
	books := make([][]float32, levels)
	for l := range books {
		books[l] = normals(uint64(l), k*d)
	}
	objective := func(left []float64, err error) float64 {
		must(t, err)
		total := 0.0
		for _, square := range left {
			total += square
		}
		for l, book := range books {
			for _, v := range book {
				total += ridge[l] * float64(v) * float64(v)
			}
		}
		return total
	}
	last := objective(Refit(t.Context(), x, n, d, codes, weights, books, ridge, 0, 1))
	for range 300 {
		now := objective(Refit(t.Context(), x, n, d, codes, weights, books, ridge, 1, 2))
		if now > last*(1+1e-6) {
			t.Fatalf("the objective rose from %g to %g", last, now)
		}
		last = now
	}
	for i := range k * levels {
		for j := range d {
			if got := float64(books[i/k][i%k*d+j]); math.Abs(got-want.At(i, j)) > 1e-4 {
				t.Fatalf("code %d, coordinate %d is %g, the ridge solution %g", i, j, got, want.At(i, j))
			}
		}
	}
}

// One level of one copy moves to sum/(count + ridge); codes without rows stay.
func TestRefitShrinks(t *testing.T) {
	books := [][]float32{{9, 9, 7, 7}}
	left, err := Refit(t.Context(), []float32{1, 2, 3, 6}, 2, 2, []uint32{0, 0}, []float32{1, 1}, books, []float64{2}, 1, 0)
	must(t, err)
	if want := []float32{1, 2, 7, 7}; !slices.Equal(books[0], want) {
		t.Errorf("codes are %v, want %v", books[0], want)
	}
	if want := []float64{4, 16}; !slices.Equal(left, want) {
		t.Errorf("left is %v, want %v", left, want)
	}
}

// Local search never raises the error of a row, does not depend on the batch or the
// workers, agrees on all kernels, and mostly improves random codes to the best of all.
func TestImproveLowersErrors(t *testing.T) {
	const n, d, levels = 90, 6, 3
	x := normals(1, n*d)
	var agreed []uint32
	for _, kern := range supportedKernels() {
		q := newAdditive(t, kern, 4, d, 9, 8, 7)
		rng := rand.New(rand.NewPCG(1, 2))
		start := make([]uint32, n*levels)
		for i := range start {
			start[i] = rng.Uint32N(7)
		}
		codes := slices.Clone(start)
		must(t, q.Improve(t.Context(), x, n, codes, 8, 5, 3))
		if agreed == nil {
			agreed = codes
		}
		if !slices.Equal(codes, agreed) {
			t.Fatalf("%s: codes differ from those of other kernels", kern.name)
		}
		before, after := rowErrors(t, q.Residual, x, start, n, levels), rowErrors(t, q.Residual, x, codes, n, levels)
		optimal := 0
		for i := range n {
			if after[i] > before[i] {
				t.Fatalf("%s: the error of row %d rose from %g to %g", kern.name, i, before[i], after[i])
			}
			least := math.Inf(1)
			for code := range uint32(9 * 8 * 7) {
				least = min(least, q.squaredError(x[i*d:(i+1)*d], []uint32{code / 56, code / 7 % 8, code % 7}, make([]float32, d)))
			}
			if after[i] <= least*(1+1e-6) {
				optimal++
			}
			one := slices.Clone(start[i*levels : (i+1)*levels])
			must(t, q.Improve(t.Context(), x[i*d:], 1, one, 8, 5, 1))
			if !slices.Equal(one, codes[i*levels:(i+1)*levels]) {
				t.Fatalf("%s: row %d alone has other codes", kern.name, i)
			}
		}
		if optimal < n*8/10 {
			t.Errorf("%s: %d of %d rows have the best codes", kern.name, optimal, n)
		}
	}
}

// The local encoder is never worse than the beam it starts from, at any number of
// levels, and its codes depend on the row alone.
func TestLocalEncoder(t *testing.T) {
	const n, d = 60, 10
	x := normals(7, n*d)
	x[5*d] = float32(math.NaN())
	stack := newResidual(t, bestKernel, 4, d, 20, 33, 17, 20)
	q, err := NewLocal(stack.levels...)
	if err != nil {
		t.Fatal(err)
	}
	product, err := NewProduct(q, q)
	if err != nil {
		t.Fatal(err)
	}
	for _, levels := range []int{2, 4} {
		local, beam, alone := make([]uint32, n*levels), make([]uint32, n*levels), make([]uint32, levels)
		q.Encode(x, n, levels, 4, local, 3)
		stack.Encode(x, n, levels, 4, beam, 3)
		improved, started := rowErrors(t, q, x, local, n, levels), rowErrors(t, q, x, beam, n, levels)
		better := 0
		for i := range n {
			if improved[i] > started[i]*(1+1e-5) {
				t.Errorf("row %d: error %g, of the beam %g", i, improved[i], started[i])
			}
			if improved[i] < started[i]*(1-1e-5) {
				better++
			}
			q.Encode(x[i*d:], 1, levels, 4, alone, 1)
			if !slices.Equal(alone, local[i*levels:(i+1)*levels]) {
				t.Errorf("row %d alone is %v, in a batch %v", i, alone, local[i*levels:(i+1)*levels])
			}
		}
		if levels == 4 && better == 0 {
			t.Error("local search improves on no beam")
		}
		pair := make([]uint32, n/2*2*levels)
		product.Encode(x, n/2, levels, 4, pair, 2)
		if !slices.Equal(pair, local) {
			t.Error("a product of two parts has other codes than its halves")
		}
	}
	if local := make([]uint32, 4); true {
		q.Encode(x[5*d:], 1, 0, 4, local, 1)
		if !slices.Equal(local, []uint32{0, 0, 0, 0}) {
			t.Errorf("a row with a NaN has codes %v", local)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
