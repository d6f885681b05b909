package eval_test

import (
	"fmt"
	"log"

	"github.com/gritvq/gritvq/eval"
)

func ExampleReconstruction() {
	var score eval.Reconstruction
	x := []float32{1, 0, 0, 1, -1, 0, 0, -1}
	xhat := []float32{1, 0, 0, 1, -1, 0, 0, -0.5}
	if err := score.Add(x, xhat, 2); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("MSE %.5f, relative error %.4f, cosine %.2f\n", score.MSE(), score.RelativeError(), score.Cosine())
	// Output: MSE 0.03125, relative error 0.0625, cosine 1.00
}

func ExampleUsage() {
	usage, err := eval.NewUsage([]int{4, 4})
	if err != nil {
		log.Fatal(err)
	}
	if err := usage.Add([]uint32{0, 0, 1, 0, 2, 1, 3, 1}, 2); err != nil {
		log.Fatal(err)
	}
	for level := range usage.Vocab() {
		stats := usage.Level(level)
		fmt.Printf("level %d: %.0f %% used, perplexity %.2f\n", level, 100*stats.Utilization, stats.Perplexity)
	}
	// Output:
	// level 0: 100 % used, perplexity 4.00
	// level 1: 50 % used, perplexity 2.00
}

func ExamplePaired() {
	ours, theirs := []float64{0.31, 0.35, 0.33, 0.36}, []float64{0.30, 0.32, 0.31, 0.34}
	test, err := eval.Paired(ours, theirs)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+.3f (95 %% %.3f to %.3f), p = %.3f\n", test.MeanDifference, test.Low, test.High, test.P)
	// Output: +0.020 (95 % 0.007 to 0.033), p = 0.016
}
