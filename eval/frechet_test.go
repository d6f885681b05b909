package eval

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// hashedFeatures rebuilds the rows of testdata/fixtures.py; every value is a
// float32, except for the offset's last bits.
func hashedFeatures(seed uint32, n, d int, scale, offset float64) []float32 {
	rows := make([]float32, 0, n*d)
	for i := range n {
		for j := range d {
			own := int(hashed(seed+uint32(i*100+j)*2)%2048) - 1024
			shared := int(hashed(seed+uint32(i*100+j/3)*2+1)%2048) - 1024
			rows = append(rows, float32(scale*float64(own+2*shared*(j%3))/1024+offset*float64(j)))
		}
	}
	return rows
}

func gaussianOf(t *testing.T, rows []float32, d int) Gaussian {
	t.Helper()
	var f Features
	if err := f.Add(rows, d); err != nil {
		t.Fatal(err)
	}
	g, err := f.Gaussian()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// SciPy 1.10.1: numpy.cov and scipy.linalg.sqrtm. The last case has fewer
// vectors than dimensions, where sqrtm itself is only good to some digits.
func TestFrechetDistanceEqualsSciPy(t *testing.T) {
	var cases []struct {
		N, M, D  int
		Distance float64
	}
	readFixture(t, "frechet.json", &cases)
	if len(cases) != 4 {
		t.Fatalf("%d cases in the fixture", len(cases))
	}
	for _, c := range cases {
		a := gaussianOf(t, hashedFeatures(1, c.N, c.D, 1, 0), c.D)
		b := gaussianOf(t, hashedFeatures(500009, c.M, c.D, 1.5, 0.02), c.D)
		for _, pair := range [][2]Gaussian{{a, b}, {b, a}} {
			got, err := FrechetDistance(pair[0], pair[1])
			if err != nil {
				t.Fatal(err)
			}
			near(t, fmt.Sprintf("%d and %d vectors of %d", c.N, c.M, c.D), got, c.Distance, 1e-5)
		}
	}
}

// Covariances that commute: S1 = Q diag(u) Q^T and S2 = Q diag(v) Q^T, for
// which the distance is |m1 - m2|^2 + sum (sqrt(u) - sqrt(v))^2. Zeros make
// them singular.
func TestFrechetDistanceOfCommutingCovariances(t *testing.T) {
	const d = 6
	random := rand.New(rand.NewPCG(3, 4))
	square := mat.NewDense(d, d, nil)
	for i := range d {
		for j := range d {
			square.Set(i, j, random.NormFloat64())
		}
	}
	var qr mat.QR
	qr.Factorize(square)
	var q mat.Dense
	qr.QTo(&q)
	u, v := []float64{4, 0, 1, 9, 0, 1e-3}, []float64{1, 2, 0, 16, 0, 1e-3}
	rotate := func(values []float64) *mat.SymDense {
		s := mat.NewSymDense(d, nil)
		for k, value := range values {
			s.SymRankOne(s, value, q.ColView(k))
		}
		return s
	}
	a := Gaussian{Mean: []float64{0, 0, 0, 0, 0, 0}, Covariance: rotate(u)}
	b := Gaussian{Mean: []float64{1, 0, 0, -2, 0, 0}, Covariance: rotate(v)}
	want := 5.0
	for i := range u {
		want += math.Pow(math.Sqrt(u[i])-math.Sqrt(v[i]), 2)
	}
	got, err := FrechetDistance(a, b)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "commuting", got, want, 1e-9)
	if same, _ := FrechetDistance(a, a); same > 1e-9 {
		t.Errorf("a Gaussian is %g from itself", same)
	}
}

// In one dimension the distance is (m1 - m2)^2 + (s1 - s2)^2.
func TestFrechetDistanceInOneDimension(t *testing.T) {
	a := gaussianOf(t, []float32{0, 2, 4}, 1)        // mean 2, variance 4
	b := gaussianOf(t, []float32{10, 11, 12, 11}, 1) // mean 11, variance 2/3
	got, err := FrechetDistance(a, b)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "one dimension", got, 81+math.Pow(2-math.Sqrt(2.0/3), 2), 1e-9)
}

// Batches give the covariance of all rows at once, also where the
// mean is a million times the spread.
func TestFeaturesStream(t *testing.T) {
	const n, d = 60, 5
	random := rand.New(rand.NewPCG(5, 6))
	rows := make([]float32, n*d)
	for i := range rows {
		rows[i] = 4096 + float32(random.IntN(64))/64
	}
	var f Features
	for start, k := 0, 0; start < n; k++ {
		count := min(1+k*3, n-start)
		if err := f.Add(rows[start*d:(start+count)*d], d); err != nil {
			t.Fatal(err)
		}
		start += count
	}
	got, err := f.Gaussian()
	if err != nil {
		t.Fatal(err)
	}
	for i := range d {
		for j := range d {
			var mi, mj, cov float64
			for r := range n {
				mi, mj = mi+float64(rows[r*d+i])/n, mj+float64(rows[r*d+j])/n
			}
			for r := range n {
				cov += (float64(rows[r*d+i]) - mi) * (float64(rows[r*d+j]) - mj) / (n - 1)
			}
			near(t, "covariance", got.Covariance.At(i, j), cov, 1e-10)
			near(t, "mean", got.Mean[i], mi, 1e-12)
		}
	}
}

func TestFeaturesRefuse(t *testing.T) {
	var f Features
	fails(t, f.Add(make([]float32, 5), 2), "not whole")
	fails(t, f.Add([]float32{float32(math.NaN())}, 1), "finite")
	if err := f.Add([]float32{1, 2}, 2); err != nil {
		t.Fatal(err)
	}
	fails(t, f.Add(make([]float32, 3), 3), "dimension 3 follow")
	_, err := f.Gaussian()
	fails(t, err, "at least 2")
	_, err = FrechetDistance(gaussianOf(t, []float32{1, 2}, 1), gaussianOf(t, []float32{1, 2, 3, 4}, 2))
	fails(t, err, "dimension 1 and 2")
	if f.count != 1 {
		t.Errorf("failed batches were counted: %d", f.count)
	}
}
