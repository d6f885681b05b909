package index

import (
	"math"
	"testing"
)

func TestProductsAreInnerProducts(t *testing.T) {
	for _, size := range [][3]int{{1, 1, 1}, {8, 32, 4}, {9, 33, 5}, {3, 70, 129}, {40, 7, 64}} {
		n, m, d := size[0], size[1], size[2]
		x, y := normals(1, n*d), normals(2, m*d)
		for _, kern := range supportedKernels() {
			out := make([]float32, n*m)
			productsWith(fusedScores(kern), x, n, y, m, d, out)
			for i := range n {
				for j := range m {
					a, b := x[i*d:(i+1)*d], y[j*d:(j+1)*d]
					bound := float64(d+2) * 0x1p-24 * math.Sqrt(Dot(a, a)*Dot(b, b))
					if math.Abs(float64(out[i*m+j])-Dot(a, b)) > bound {
						t.Fatalf("%s, %v: <x%d,y%d> is %g, want %g", kern.name, size, i, j, out[i*m+j], Dot(a, b))
					}
				}
			}
		}
	}
}

func TestProductsRefuseOtherSizes(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("half a row was multiplied")
		}
	}()
	Products(make([]float32, 5), 2, make([]float32, 4), 2, 2, make([]float32, 4))
}

func BenchmarkProducts512x512x1280(b *testing.B) {
	const n, d = 512, 1280
	x, y, out := normals(1, n*d), normals(2, n*d), make([]float32, n*n)
	for b.Loop() {
		Products(x, n, y, n, d, out)
	}
	b.ReportMetric(2*n*n*d*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
