package generation

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/task"
)

// withScores is a record of the grid.
func withScores(letter, method string, codes int, seed uint64, kid, bits, perplexity, used float64) Record {
	r := scored(faces.job(letter, method, codes, seed))
	r.Drawn.KID = &eval.KernelInterval{Mean: kid}
	r.Likelihood.BitsPerImage, r.Likelihood.Perplexity, r.Reconstructed.Utilization.Mean = bits, perplexity, used
	r.Command, r.Commit, r.Hardware = "bench generation", "abc", "a machine"
	return r
}

// The page shows what was measured, leaves other cells empty, and its verdicts follow from the records.
func TestPageIsMadeOfItsRecords(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "more.jsonl")
	failed := Record{Job: job("a-failed"), Failed: "no memory"}
	records := []Record{
		withScores("a", "ema", 512, 1, 0.30, 1500, 90, 0.9), withScores("a", "ema", 512, 2, 0.32, 1510, 92, 0.9),
		withScores("a", "grit", 512, 1, 0.20, 1600, 99, 1), withScores("a", "diveq", 512, 1, 0.25, 1550, 95, 1),
		withScores("d", "grit", 1024, 1, 0.22, 1700, 120, 1), withScores("d", "grit", 65536, 1, 0.18, 2600, 1500, 0.97),
		withScores("d", "ema", 65536, 1, 0.4, 2500, 1400, 0.5), withScores("d", "diveq", 65536, 1, 0.4, 2500, 1400, 0.6),
		withScores("a", "grit+context", 512, 1, 0.35, 1700, 110, 1), failed,
	}
	if err := atomicfile.WriteJSON(file, "", records...); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	drawn := filepath.Join(out, Name+drawing(faces.name))
	if err := errors.Join(os.Mkdir(out, 0o755), os.WriteFile(drawn, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := Document.Write([]string{file}, out, task.Silent{}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(out, "generation.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(content)
	if strings.Count(page, "](generation-samples-") != 1 {
		t.Error("the page does not show the samples that were drawn, or shows others")
	}
	row, err := table.FindRow(page, "## (a) Faces at 128 px, 512 codes (B = 9)", "EMA-VQ")
	if err != nil || row["seeds"] != "2 of 3" || row["KID"] != "0.3100 ± 0.0141" {
		t.Errorf("row %v, %v", row, err)
	}
	row, err = table.FindRow(page, "## (a) Faces at 128 px, 512 codes (B = 9)", "GRIT-VQ with context")
	if err != nil || row["KID"] != "0.3500" {
		t.Errorf("a variant's row: %v, %v", row, err)
	}
	if row, err = table.FindRow(page, "## (a) Faces at 128 px, 512 codes (B = 9)", "LFQ"); err != nil || row["KID"] != "" {
		t.Errorf("a cell nobody measured: %v, %v", row, err)
	}
	for claim, want := range map[string]string{
		"GRIT-VQ has the best samples at B = 9":                           "yes: the best KID of 4 methods",
		"the order of the methods at B = 9":                               "3 of 3 pairs",
		"more codes improve GRIT-VQ's samples from 2^10 to 2^16":          "yes: KID 0.2200 becomes 0.1800",
		"GRIT-VQ keeps its codes in use at 2^16, EMA-VQ and DiVeQ do not": "GRIT-VQ 97 %, EMA-VQ 50 %, DiVeQ 60 %",
		"GRIT-VQ's codes are no harder to predict at equal codes":         "no: rank 3 of 4 in perplexity; EMA-VQ is best",
	} {
		row, err := table.FindRow(page, "## Verdicts", claim)
		if err != nil || !strings.HasPrefix(row["here"], want) {
			t.Errorf("%s: %q, %v", claim, row["here"], err)
		}
	}
	if !strings.Contains(page, "a-failed") || !strings.Contains(page, "no memory") || !strings.Contains(page, "celebahq-256") {
		t.Error("the page hides a failure or a table")
	}
	if _, err := os.Stat(filepath.Join(out, "generation-psnr.svg")); err != nil {
		t.Error(err)
	}
	empty := filepath.Join(dir, "empty")
	if err := Document.Write(nil, empty, task.Silent{}); err != nil {
		t.Fatal(err)
	}
	if content, err = os.ReadFile(filepath.Join(empty, "generation.md")); err != nil || strings.Count(string(content), notMeasured+" |") != 5 {
		t.Errorf("verdicts without records (%v):\n%s", err, content)
	}
}

// Rates, distortions and samples are shown of every method that was measured, not of those of the sweeps alone.
func TestFiguresShowAllMethods(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "records.jsonl")
	records := []Record{withScores("a", "simvq", 512, 1, 0.3, 1500, 90, 1), withScores("a", "grit", 512, 1, 0.2, 1600, 99, 1)}
	for i := range records {
		records[i].Reconstructed.LPIPS = 0.1
	}
	if err := atomicfile.WriteJSON(file, "", records...); err != nil {
		t.Fatal(err)
	}
	if err := Document.Write([]string{file}, dir, task.Silent{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"psnr", "lpips", "scatter"} {
		content, err := os.ReadFile(filepath.Join(dir, Name+"-"+name+".svg"))
		if figure := string(content); err != nil || !strings.Contains(figure, "SimVQ") || !strings.Contains(figure, "GRIT-VQ") {
			t.Errorf("%s: %v, a method is missing", name, err)
		}
	}
}
