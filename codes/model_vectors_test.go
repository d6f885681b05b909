package codes

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Vectors that vary along two orthogonal directions only are reduced to those:
// distances stay, up to the common scale and rounding to a byte.
func TestShortVectorsKeepDistances(t *testing.T) {
	random := rand.New(rand.NewPCG(19, 1))
	const vocab, d = 50, 30
	vectors, counts := make([]float32, vocab*d), make([]uint32, vocab)
	for code := range vocab {
		a, b := random.NormFloat64(), random.NormFloat64()/3
		counts[code] = random.Uint32N(9)
		for j := range d {
			vectors[code*d+j] = float32(7 + a*math.Sin(float64(j)) + b*math.Cos(float64(j)))
		}
	}
	short, width, err := shortVectors(vectors, counts)
	if err != nil || width != vectorWidth {
		t.Fatal(width, err)
	}
	distance := func(i, j int) (long, brief float64) {
		for k := range d {
			long += math.Pow(float64(vectors[i*d+k]-vectors[j*d+k]), 2)
		}
		for k := range width {
			brief += math.Pow(float64(short[i*width+k])-float64(short[j*width+k]), 2)
		}
		return math.Sqrt(long), math.Sqrt(brief)
	}
	long, brief := 0.0, 0.0
	for i := range vocab {
		a, b := distance(0, i)
		long, brief = long+a, brief+b
	}
	for i := range vocab {
		for j := range i {
			if a, b := distance(i, j); math.Abs(a*brief/long-b) > 2.5 {
				t.Errorf("codes %d and %d: distance %.3g became %.3g", i, j, a*brief/long, b)
			}
		}
	}
	for i, x := range short {
		if i%width >= 2 && (x < -1 || x > 1) {
			t.Errorf("component %d of code %d is %d, the vectors have two", i%width, i/width, x)
		}
	}
}

func TestSolve(t *testing.T) {
	random := rand.New(rand.NewPCG(21, 1))
	const n, m = 9, 3
	root, want := make([]float64, n*n), make([]float64, n*m)
	for i := range root {
		root[i] = random.NormFloat64()
	}
	for i := range want {
		want[i] = random.NormFloat64()
	}
	a, b := make([]float64, n*n), make([]float64, n*m) // a = root root', b = a want
	for i := range n {
		for j := range n {
			a[i*n+j] = dot(root[i*n:][:n], root[j*n:][:n])
			for k := range m {
				b[i*m+k] += a[i*n+j] * want[j*m+k]
			}
		}
	}
	for i, x := range solve(a, b, n, m) {
		if math.Abs(x-want[i]) > 1e-8 {
			t.Errorf("solution %d is %g, want %g", i, x, want[i])
		}
	}
}

// On slopes the regression finds that a code is left plus above minus the
// corner between them.
func TestRegressionPredictsSlopes(t *testing.T) {
	random := rand.New(rand.NewPCG(23, 1))
	const vocab = 120
	var grids []CodeMap
	for range 200 {
		g := CodeMap{Height: 8, Width: 8}
		slopeY, slopeX := random.IntN(9)-4, random.IntN(9)-4
		for i := range 64 {
			g.Codes = append(g.Codes, uint32(60+slopeY*(i/8)+slopeX*(i%8)))
		}
		grids = append(grids, g)
	}
	m, err := Train(t.Context(), grids, []uint32{vocab}, [][]float32{line(vocab)})
	if err != nil {
		t.Fatal(err)
	}
	var worst float64
	for _, g := range grids[:20] {
		c := newContextCoder(m, g.planes(1)[0])
		for y := 1; y < 8; y++ {
			for x := 1; x < 7; x++ {
				c.look(y, x)
				c.predictVector()
				want := m.levels[0].points[g.Codes[y*8+x]][0]
				worst = max(worst, math.Abs(float64(c.predicted[0])/16-float64(want)))
			}
		}
	}
	if worst > 8 { // of 255
		t.Errorf("a predicted vector is off by %g", worst)
	}
}
