package eval_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gritvq/gritvq/eval"
)

func ExampleFrechetDistance() {
	gaussian := func(rows []float32) eval.Gaussian {
		var features eval.Features
		if err := features.Add(rows, 2); err != nil {
			log.Fatal(err)
		}
		g, err := features.Gaussian()
		if err != nil {
			log.Fatal(err)
		}
		return g
	}
	real := gaussian([]float32{1, 0, -1, 0, 0, 1, 0, -1})
	wider := gaussian([]float32{3, 0, -1, 0, 1, 2, 1, -2}) // twice as wide, one to the right
	distance, err := eval.FrechetDistance(real, wider)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f\n", distance)
	// Output: 2.3333
}

func ExampleKernelDistance() {
	a := []float32{1, 0, -1, 0, 0, 1, 0, -1}
	b := []float32{3, 0, -1, 0, 1, 2, 1, -2}
	score, err := eval.KernelDistance(context.Background(), a, b, 2, eval.KernelOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f\n", score.Mean)
	// Output: 0.1667
}

func ExampleCompareManifolds() {
	real := []float32{0, 1, 2, 3, 10, 11, 12, 13}
	samples := []float32{0.5, 1.5, 2.5, 30} // three among the small numbers, one nowhere
	m, err := eval.CompareManifolds(context.Background(), samples, real, 1, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("precision %.2f, coverage %.2f\n", m.Precision, m.Coverage)
	// Output: precision 0.75, coverage 0.50
}
