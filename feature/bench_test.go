package feature

import (
	"context"
	"fmt"
	"testing"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// BenchmarkLPIPS compares sixteen pairs over SqueezeNet; its speed does
// not depend on the weights.
func BenchmarkLPIPS(b *testing.B) {
	network, err := newLPIPS(fileOf(b, backboneTensors(squeezeNet)))
	if err != nil {
		b.Fatal(err)
	}
	runner, err := NewLPIPSRunner(gradtest.Engine(b), network)
	if err != nil {
		b.Fatal(err)
	}
	defer runner.Close()
	const n = 16
	for _, size := range []int{64, 128, 256} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			first, second := pixels(1, n, size, size), pixels(2, n, size, size)
			for b.Loop() {
				if _, err := runner.Distances(context.Background(), first, second, n, size); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "pairs/s")
		})
	}
}

// BenchmarkMobileNet computes the published network's features of sixteen pictures.
func BenchmarkMobileNet(b *testing.B) {
	network, err := Load(published(b, "mobilenetv2.safetensors"))
	if err != nil {
		b.Fatal(err)
	}
	extractor, err := NewExtractor(gradtest.Engine(b), network)
	if err != nil {
		b.Fatal(err)
	}
	defer extractor.Close()
	const n, size = 16, 128
	pictures := pixels(1, n, size, size)
	for b.Loop() {
		if _, err := extractor.Features(context.Background(), pictures, n, size); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "pictures/s")
}
