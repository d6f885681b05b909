package eval

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestPCAFindsThePlane(t *testing.T) {
	// Points mean + a*u + b*v with orthonormal u, v in five dimensions and a
	// spread wider than b: their coordinates are a and b, up to sign.
	mean := []float64{10, -20, 30, 0, 5}
	u := []float64{0.6, 0.8, 0, 0, 0}
	v := []float64{0, 0, 0.8, 0, -0.6}
	random := rand.New(rand.NewPCG(11, 12))
	const n = 500
	a, b := make([]float64, n), make([]float64, n)
	for i := 0; i < n; i += 2 { // each a with b and -b, so that the two do not correlate
		a[i], b[i] = 3*random.NormFloat64(), random.NormFloat64()
		a[i+1], b[i+1] = a[i], -b[i]
	}
	var meanA float64
	for _, value := range a {
		meanA += value / n
	}
	rows := make([]float32, 0, 5*n)
	for i := range n {
		for c := range 5 {
			rows = append(rows, float32(mean[c]+(a[i]-meanA)*u[c]+b[i]*v[c]))
		}
	}
	p, err := FitPCA(rows, n, 5)
	if err != nil {
		t.Fatal(err)
	}
	points, err := p.Project(rows)
	if err != nil {
		t.Fatal(err)
	}
	var varianceA, varianceB float64
	for i, point := range points {
		near(t, "first", point[0], a[i]-meanA, 1e-5)
		near(t, "second", point[1], b[i], 1e-5)
		varianceA += (a[i] - meanA) * (a[i] - meanA)
		varianceB += b[i] * b[i]
	}
	near(t, "explained", p.Explained[0], varianceA/(varianceA+varianceB), 1e-6)
	near(t, "explained in all", p.Explained[0]+p.Explained[1], 1, 1e-6)
	near(t, "deviation", p.Deviations[0], math.Sqrt(varianceA/n), 1e-5)

	// Other rows: the mean is the origin, and components off the plane vanish.
	other, err := p.Project([]float32{10, -20, 30, 7, 5, 10.6, -19.2, 30, 0, 5})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "mean", math.Hypot(other[0][0], other[0][1]), 0, 1e-5)
	near(t, "one step along u", other[1][0], 1, 1e-5)
	_, err = p.Project(make([]float32, 6))
	fails(t, err, "not whole rows of 5")
}

func TestPCAEdges(t *testing.T) {
	p, err := FitPCA([]float32{1, 3}, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	points, err := p.Project([]float32{1, 3, 6})
	if err != nil || points[0] != [3]float64{-1, 0, 0} || points[2] != [3]float64{4, 0, 0} {
		t.Errorf("%v, %v", points, err)
	}
	if p, err := FitPCA([]float32{1, 2}, 1, 2); err != nil || p.Explained != [3]float64{} {
		t.Errorf("one row: %v, %v", p, err)
	}
	_, err = FitPCA(nil, 0, 3)
	fails(t, err, "n >= 1")
	_, err = FitPCA(make([]float32, 5), 2, 3)
	fails(t, err, "5 values for n = 2 and d = 3")
	_, err = FitPCA([]float32{float32(math.NaN())}, 1, 1)
	fails(t, err, "finite")
}

func TestPCAFindsTheAxes(t *testing.T) {
	const n, d = 4000, 5
	// Values along three orthonormal directions, with known deviations.
	axes := [3][d]float64{{0.6, 0.8, 0, 0, 0}, {-0.8, 0.6, 0, 0, 0}, {0, 0, 0, 1, 0}}
	deviations := [3]float64{3, 2, 1}
	random := rand.New(rand.NewPCG(3, 4))
	rows, truth := make([]float32, n*d), make([][3]float64, n)
	for i := range n {
		for a, axis := range axes {
			truth[i][a] = random.NormFloat64()
			for j := range d {
				rows[i*d+j] += float32(truth[i][a] * deviations[a] * axis[j])
			}
		}
		rows[i*d+2] += 7 // an offset does not matter
	}
	p, err := FitPCA(rows, n, d)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Project(rows)
	if err != nil {
		t.Fatal(err)
	}
	for a := range 3 {
		sum, squares := 0.0, 0.0
		for i := range n {
			along := got[i][a] / p.Deviations[a]
			sum += truth[i][a] * along / n
			squares += along * along / n
		}
		sign := 1.0
		if a == 1 {
			sign = -1 // its largest component, -0.8, was to become positive
		}
		if sign*sum < 0.97 || math.Abs(squares-1) > 1e-9 {
			t.Errorf("axis %d: correlation %.3f with the truth, variance %.6f", a, sum, squares)
		}
	}
}
