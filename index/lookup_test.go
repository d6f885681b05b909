package index

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomRows returns n rows of codes of the product, and the vectors they decode to.
func randomRows(t testing.TB, p *Product, n, levels int, seed uint64) (codes []uint32, decoded []float32) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	for range n {
		for _, part := range p.parts {
			for l := range part.usedLevels(levels) {
				codes = append(codes, uint32(rng.IntN(part.levels[l].k)))
			}
		}
	}
	decoded = make([]float32, n*p.d)
	if err := p.Decode(codes, n, levels, decoded); err != nil {
		t.Fatal(err)
	}
	return codes, decoded
}

// useScan makes a Lookup scan by implementation i, if there are that many.
func useScan(l *Lookup, i int) bool {
	use := func(into any) bool {
		switch r := into.(type) {
		case *packedRows[uint8]:
			list := supportedScans[uint8]()
			r.find = list[min(i, len(list)-1)]
			return i < len(list)
		case *packedRows[uint16]:
			list := supportedScans[uint16]()
			r.find = list[min(i, len(list)-1)]
			return i < len(list)
		}
		return i == 0
	}
	return use(l.rows)
}

func TestLookupMatchesSearchThroughDecodedRows(t *testing.T) {
	product := func(parts ...*Residual) *Product {
		p, err := NewProduct(parts...)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for name, test := range map[string]struct {
		p                     *Product
		rows, queries, levels int
	}{
		"residual":            {product(newResidual(t, bestKernel, 1, 6, 16, 8, 9)), 700, 37, 0},
		"leading levels":      {product(newResidual(t, bestKernel, 1, 6, 16, 8, 9)), 300, 5, 2},
		"product":             {product(newResidual(t, bestKernel, 1, 3, 16), newResidual(t, bestKernel, 2, 5, 300)), 900, 16, 0},
		"residual product":    {product(newResidual(t, bestKernel, 1, 3, 16, 4), newResidual(t, bestKernel, 2, 2, 5, 7)), 400, 20, 0},
		"single level, ties":  {product(newResidual(t, bestKernel, 3, 4, 6)), 800, 9, 0},
		"fewer rows than k":   {product(newResidual(t, bestKernel, 3, 4, 6, 6)), 7, 3, 0},
		"one query, segments": {product(newResidual(t, bestKernel, 4, 8, 20, 20, 20)), 3000, 1, 0},
	} {
		const k = 12
		codes, decoded := randomRows(t, test.p, test.rows, test.levels, 5)
		x := normals(9, test.queries*test.p.d)
		wantItems, wantScores := bruteTop(Euclidean, x, decoded, test.queries, test.rows, test.p.d, k)
		for scan := 0; ; scan++ {
			l, err := NewLookup(test.p, test.levels)
			if err != nil {
				t.Fatal(err)
			}
			if !useScan(l, scan) {
				break
			}
			half := test.rows / 2
			for _, part := range []struct{ from, to int }{{0, half}, {half, test.rows}} {
				if err := l.Add(codes[part.from*l.Width():part.to*l.Width()], part.to-part.from); err != nil {
					t.Fatal(err)
				}
			}
			for _, workers := range []int{1, 5} {
				t.Run(fmt.Sprintf("%s/scan %d/%d workers", name, scan, workers), func(t *testing.T) {
					items, scores := make([]uint32, test.queries*k), make([]float32, test.queries*k)
					l.Search(x, test.queries, k, items, scores, SearchOptions{Workers: workers})
					sameAnswer(t, items, wantItems, scores, wantScores)
				})
			}
		}
	}
}

// Scores that float32 cannot tell apart, or hold, are decided in float64.
func TestLookupOfHardNumbers(t *testing.T) {
	for name, scale := range map[string]float32{"far from zero": 1, "huge": 1e25, "tiny": 1e-25} {
		offset := float32(0)
		if name == "far from zero" {
			offset = 3e4
		}
		const d, k = 5, 4
		book := normals(3, 8*d)
		for i := range book {
			book[i] = scale * (book[i] + offset)
		}
		first, err := NewCodes(book, 8, d)
		if err != nil {
			t.Fatal(err)
		}
		fine := normals(4, 16*d)
		for i := range fine {
			fine[i] *= scale / 100
		}
		second, err := NewCodes(fine, 16, d)
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewResidual(first, second)
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewProduct(r)
		if err != nil {
			t.Fatal(err)
		}
		codes, decoded := randomRows(t, p, 500, 0, 1)
		x := slices.Clone(decoded[:20*d])
		for i := range x {
			x[i] *= 1.0001
		}
		l, err := NewLookup(p, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Add(codes, 500); err != nil {
			t.Fatal(err)
		}
		wantItems, wantScores := bruteTop(Euclidean, x, decoded, 20, 500, d, k)
		items, scores := make([]uint32, 20*k), make([]float32, 20*k)
		l.Search(x, 20, k, items, scores, SearchOptions{})
		sameAnswer(t, items, wantItems, scores, wantScores)
		x[0] = float32(math.NaN())
		l.Search(x, 2, k, items, scores, SearchOptions{})
		if items[0] != Missing || !math.IsInf(float64(scores[0]), 1) || items[k] != wantItems[k] {
			t.Errorf("%s: after a NaN: %v %v", name, items[:2*k], scores[:k])
		}
	}
}

func TestLookupErrors(t *testing.T) {
	p, err := NewProduct(newResidual(t, bestKernel, 1, 2, 3, 4))
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewLookup(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		codes []uint32
		n     int
		want  string
	}{
		{[]uint32{0, 4}, 1, "code 4 of level 1 is outside its codebook of 4"},
		{[]uint32{0, 1, 2}, 1, "3 codes are not 1 rows of 2"},
	} {
		if err := l.Add(test.codes, test.n); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v, want %q", test.codes, err, test.want)
		}
		if l.Len() != 0 {
			t.Errorf("%v changed the index", test.codes)
		}
	}
	first, second := mustNewCodes(t, normals(1, 8), 4, 2), mustNewCodes(t, normals(2, 8), 4, 2)
	affine := Affine{Hidden: 1, Q: make([]float32, 2), Bias: make([]float32, 1), U: make([]float32, 4)}
	conditional, err := NewConditional([]*Codes{first, second}, []Condition{nil, affine})
	if err != nil {
		t.Fatal(err)
	}
	p, err = NewProduct(conditional)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewLookup(p, 0); err == nil || p.Additive() || !strings.Contains(err.Error(), "conditional levels") {
		t.Errorf("conditional levels: %v", err)
	}
}

func mustNewCodes(t testing.TB, rows []float32, k, d int) *Codes {
	t.Helper()
	codes, err := NewCodes(rows, k, d)
	if err != nil {
		t.Fatal(err)
	}
	return codes
}

func BenchmarkSearch200000x64(b *testing.B) {
	const n, d, queries, k = 200_000, 64, 64, 10
	var levels []*Codes
	for l := range 4 {
		levels = append(levels, mustNewCodes(b, normals(uint64(l), 256*d), 256, d))
	}
	r, err := NewResidual(levels...)
	if err != nil {
		b.Fatal(err)
	}
	p, err := NewProduct(r)
	if err != nil {
		b.Fatal(err)
	}
	codes, decoded := randomRows(b, p, n, 0, 3)
	x := normals(8, queries*d)
	items := make([]uint32, queries*k)
	l, err := NewLookup(p, 0)
	if err != nil {
		b.Fatal(err)
	}
	if err := l.Add(codes, n); err != nil {
		b.Fatal(err)
	}
	exact, err := NewExact(Euclidean, decoded, n, d)
	if err != nil {
		b.Fatal(err)
	}
	for scan := 0; useScan(l, scan); scan++ {
		b.Run(fmt.Sprintf("tables-%d", scan), func(b *testing.B) {
			for b.Loop() {
				l.Search(x, queries, k, items, nil, SearchOptions{})
			}
		})
	}
	useScan(l, 0)
	b.Run("one-query", func(b *testing.B) {
		for b.Loop() {
			l.Search(x, 1, k, items, nil, SearchOptions{})
		}
	})
	b.Run("vectors", func(b *testing.B) {
		for b.Loop() {
			exact.Search(x, queries, k, items, nil, SearchOptions{})
		}
	})
}

func ExampleLookup() {
	coarse, _ := NewCodes([]float32{0, 0, 10, 10}, 2, 2)
	fine, _ := NewCodes([]float32{0, 0, 1, 0, 0, 1}, 3, 2)
	residual, _ := NewResidual(coarse, fine)
	product, _ := NewProduct(residual)
	rows, _ := NewLookup(product, 0)
	_ = rows.Add([]uint32{0, 0, 1, 0, 1, 2}, 3) // (0,0), (10,10), (10,11)
	items, distances := make([]uint32, 2), make([]float32, 2)
	rows.Search([]float32{10, 12}, 1, 2, items, distances, SearchOptions{})
	fmt.Println(items, distances)
	// Output: [2 1] [1 4]
}
