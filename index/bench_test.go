package index

import (
	"math/rand/v2"
	"testing"
)

func normals(seed uint64, n int) []float32 {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

func BenchmarkNearest16384x16384x64(b *testing.B) {
	const n, k, d = 16384, 16384, 64
	x, rows := normals(1, n*d), normals(2, k*d)
	index, dist := make([]uint32, n), make([]float32, n)
	for _, kern := range supportedKernels() {
		if kern.name == "portable" && testing.Short() {
			continue
		}
		b.Run(kern.name, func(b *testing.B) {
			codes, err := newCodesWith(kern, rows, k, d)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				codes.Nearest(x, n, index, dist, 0)
			}
			b.ReportMetric(2*n*k*d*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
