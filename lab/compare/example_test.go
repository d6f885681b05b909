package compare_test

import (
	"context"
	"fmt"
	"os"

	"github.com/gritvq/gritvq/lab/compare"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// A comparison of two methods and a variant on built-in vectors.
func ExampleRun() {
	dir, err := os.MkdirTemp("", "compare")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	results, err := compare.Run(context.Background(), compare.Options{
		Input:    tokenize.Input{Path: "synthetic:mixture?rows=400&dim=8"},
		Settings: tokenize.Settings{Sets: []string{"model.hidden=[]", "model.dim=0", "train.steps=10", "train.batch=32"}},
		Methods:  []string{"kmeans", "grit"},
		Variants: []compare.Variant{{Name: "grit, no resets", Method: "grit", Change: func(c *vqtrain.Config) { c.Quantizer.Resets.Every = 0 }}},
		Bits:     8,
		Output:   dir,
	}, task.Silent{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range results.Methods {
		fmt.Printf("%d. %s, %g bits, recall measured: %v\n", m.Rank, m.Method, m.Score("bits_per_vector").Mean, m.Score("recall_at_10").N == 1)
	}
	// Unordered output:
	// 1. grit, 8 bits, recall measured: true
	// 2. grit, no resets, 8 bits, recall measured: true
	// 3. kmeans, 8 bits, recall measured: true
}

// Records of two methods and two seeds become a ranked comparison.
func ExampleKind_Summarize() {
	record := func(method string, seed uint64, psnr float64) compare.Record {
		return compare.Record{Method: method, Point: compare.Point{Codes: 4096, Levels: 1, Parts: 1}, Seed: seed,
			Scores: table.Scores{"psnr": psnr, "utilization": 1}}
	}
	summaries := compare.OfPictures.Summarize([]compare.Record{
		record("ste", 1, 25.5), record("grit", 1, 26.1), record("ste", 2, 25.7), record("grit", 2, 26.3),
	})
	for _, s := range summaries {
		psnr := s.Score("psnr")
		fmt.Printf("%d. %s: %.2f dB ± %.2f, best %v\n", s.Rank, s.Method, psnr.Mean, psnr.Std, s.Best())
	}
	// Output:
	// 1. grit: 26.20 dB ± 0.14, best true
	// 2. ste: 25.60 dB ± 0.14, best false
}
