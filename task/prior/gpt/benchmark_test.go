package gpt

import (
	"testing"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// Drawing 56 rows of 256 tokens from 4 layers of width 128.
func BenchmarkSampler(b *testing.B) {
	m, err := New(Small(), Layout{Vocab: []int{512}, Cells: 256})
	if err != nil {
		b.Fatal(err)
	}
	s, err := NewSampler(gradtest.Engine(b), m, m.Init(1), DefaultSampling())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for b.Loop() {
		if _, err := s.Sample(b.Context(), numbered(0, 56, 0), nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(56*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
