package table_test

import (
	"os"

	"github.com/gritvq/gritvq/lab/table"
)

// Two methods with three seeds each: the best is bold, the other tied.
func ExampleLayout_Scores() {
	var records []table.Record
	for seed, psnr := range map[uint64][2]float64{1: {26.0, 26.0}, 2: {26.1, 26.2}, 3: {26.2, 26.4}} {
		records = append(records, table.Record{Method: "ema", Seed: seed, Scores: table.Scores{"psnr": psnr[0]}},
			table.Record{Method: "grit", Seed: seed, Scores: table.Scores{"psnr": psnr[1]}})
	}
	layout := table.Layout{Rows: table.Plan("ema x 3", "grit x 3"), Name: func(method string) string { return method }}
	psnr := table.Measure{Name: "psnr", Title: "PSNR (dB)", Goal: table.Higher, Text: table.Decimals(2)}
	if err := layout.Scores(table.Collect(records), []table.Measure{psnr}).Markdown(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// | method | seeds | PSNR (dB) |
	// |---|--:|--:|
	// | ema | 3 of 3 | 26.10 ± 0.10 = |
	// | grit | 3 of 3 | **26.20 ± 0.20** |
}
