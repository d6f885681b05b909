package index

import (
	"fmt"
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

func BenchmarkKMeans(b *testing.B) {
	const n, d, k = 50_000, 32, 1024
	x := normals(1, n*d)
	for b.Loop() {
		if _, _, err := KMeans(b.Context(), x, n, d, k, KMeansOptions{Iterations: 20, Tolerance: -1}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkResidualEncode(b *testing.B) {
	const n, d, k, levels = 20_000, 128, 256, 4
	x := normals(1, n*d)
	var codebooks []*Codes
	for l := range uint64(levels) {
		codes, err := NewCodes(normals(2+l, k*d), k, d)
		if err != nil {
			b.Fatal(err)
		}
		codebooks = append(codebooks, codes)
	}
	q, err := NewResidual(codebooks...)
	if err != nil {
		b.Fatal(err)
	}
	out := make([]uint32, n*levels)
	for _, beam := range []int{1, 5} {
		b.Run(fmt.Sprintf("beam=%d", beam), func(b *testing.B) {
			for b.Loop() {
				q.Encode(x, n, levels, beam, out, 0)
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "vectors/s")
		})
	}
}
