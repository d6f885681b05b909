package compare_test

import (
	"fmt"

	"github.com/gritvq/gritvq/lab/compare"
	"github.com/gritvq/gritvq/lab/table"
)

// Records of two methods and two seeds become a ranked comparison.
func ExampleKind_Summarize() {
	record := func(method string, seed uint64, psnr float64) compare.Record {
		return compare.Record{Method: method, Point: compare.Point{Codes: 4096, Levels: 1, Parts: 1}, Seed: seed, Scores: table.Scores{"psnr": psnr, "utilization": 1}}
	}
	summaries := compare.OfPictures.Summarize([]compare.Record{
		record("ste", 1, 25.5), record("grit", 1, 26.1), record("ste", 2, 25.7), record("grit", 2, 26.3),
	})
	for _, s := range summaries {
		psnr := s.Score("psnr")
		fmt.Printf("%d. %s: %.2f dB ± %.2f, best %v\n", s.Rank, s.Method, psnr.Mean, psnr.Std, s.Best)
	}
	// Output:
	// 1. grit: 26.20 dB ± 0.14, best true
	// 2. ste: 25.60 dB ± 0.14, best false
}
