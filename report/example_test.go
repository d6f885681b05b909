package report_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gritvq/gritvq/report"
)

func ExamplePage() {
	page := report.New("Training report", "Sixteen codes on a toy set.")
	page.Facts([]report.Fact{{Name: "codes in use", Value: report.Percent(15.0/16, 1), Note: "15 of 16"}})
	page.Section("Training", "The loss should fall.", report.LineChart{
		Title: "Loss", XLabel: "step", YLabel: "mean squared error",
		Series: []report.Series{{Name: "training", Y: []float64{0.9, 0.5, 0.3, 0.2}}},
	})
	page.Section("Reproduce", "", report.Code{Text: "gritvq train --config toy.yaml"})

	dir, err := os.MkdirTemp("", "report")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	fmt.Println(page.WriteFile(filepath.Join(dir, "report.html")))
	// Output: <nil>
}
