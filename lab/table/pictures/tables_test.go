package pictures

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/task"
)

const fixture = "testdata/lines.jsonl"

func rowOf(t *testing.T, page, heading string, begins ...string) map[string]string {
	t.Helper()
	row, err := table.FindRow(page, heading, begins...)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func written(t *testing.T, dir string, files ...string) string {
	t.Helper()
	if err := Document.Write(files, dir, task.Silent{}); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, Name+".md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// The numbers of the fixture are chosen so that means and deviations are round:
// PSNR of GRIT 26.0, 26.2, 26.4, of EMA-VQ 26.0, 26.1, 26.2.
func TestPictureTablesHoldTheRuns(t *testing.T) {
	dir := t.TempDir()
	page := written(t, dir, fixture)
	const faces = "## (a) Faces at 128 px, 4,096 codes"
	grit, ema := rowOf(t, page, faces, "GRIT-VQ"), rowOf(t, page, faces, "EMA-VQ")
	for _, check := range []struct{ name, got, want string }{
		{"best", grit["PSNR (dB)"], "**26.20 ± 0.20**"},
		// Differences 0, 0.1 and 0.2 dB: the interval of their mean is 0.1 ± 0.25.
		{"tied", ema["PSNR (dB)"], "26.10 ± 0.10 ="},
		// 26.04 against 26.00 on the common seed.
		{"tied with one seed", rowOf(t, page, faces, "STE")["PSNR (dB)"], "26.04 ="},
		{"beaten", rowOf(t, page, faces, "FSQ")["PSNR (dB)"], "25.50"},
		{"no spread, no tie", ema["LPIPS"], "0.1100 ± 0.0000"},
		{"least is best", grit["LPIPS"], "**0.1000 ± 0.0000**"},
		{"equal", ema["codes used, training"], "**100.0 ± 0.0 %**"},
		{"equal with one seed", rowOf(t, page, faces, "STE")["codes used, training"], "**100.0 %**"},
		{"used, held out", rowOf(t, page, faces, "FSQ")["codes used, held out"], "25.0 %"},
		{"dead", rowOf(t, page, faces, "FSQ")["dead"], "50.0 %"},
		{"tokens", grit["tokens/code, training"], "40.0"},
		{"tokens, held out", grit["tokens/code, held out"], "2.5"},
		{"bits", grit["bits/pixel"], "0.1875"},
		{"seconds", grit["seconds"], "60"},
		{"not measured", grit["Frechet"], ""},
		{"not run", rowOf(t, page, faces, "NSVQ")["PSNR (dB)"], ""},
		{"seeds", grit["seeds"], "3 of 3"},
		{"no seeds", rowOf(t, page, faces, "SimVQ")["seeds"], "0 of 3"},
		{"a failure", rowOf(t, page, faces, "LFQ")["seeds"], "0 of 1"},
		{"all equal", rowOf(t, page, "## (b) ImageNet at 256 px, 16,384 codes", "EMA-VQ")["PSNR (dB)"], "22.00"},
		{"beaten at 256 px", rowOf(t, page, "## (b) ImageNet at 256 px, 16,384 codes", "EMA-VQ")["LPIPS"], "0.2500"},
		{"absent set", rowOf(t, page, "## (b) CelebA-HQ at 256 px, 16,384 codes", "GRIT-VQ")["PSNR (dB)"], ""},
		{"from table (a)", rowOf(t, page, "### PSNR (dB)", "GRIT-VQ")["4,096"], "**26.20 ± 0.20**"},
		// 0.2 dB below; typical is sqrt((0.04+0.01)/2) = 0.158.
		{"small", rowOf(t, page, "### PSNR (dB)", "DiVeQ")["1,024"], "24.80"},
		{"alone", rowOf(t, page, "### PSNR (dB)", "GRIT-VQ")["65,536"], "27.00"},
		{"large", rowOf(t, page, "### Codes used, training", "GRIT-VQ")["65,536"], "87.5 %"},
		{"gap", rowOf(t, page, "### LPIPS", "GRIT-VQ")["16,384"], ""},
		{"one level", rowOf(t, page, "## (d) Residual levels of 1,024 codes, faces at 128 px", "1", "GRIT-VQ")["PSNR (dB)"], "**25.00**"},
		{"two levels", rowOf(t, page, "## (d) Residual levels of 1,024 codes, faces at 128 px", "2", "GRIT-VQ")["bits/pixel"], "0.3125"},
		{"three levels", rowOf(t, page, "## (d) Residual levels of 1,024 codes, faces at 128 px", "3", "GRIT-VQ")["PSNR (dB)"], ""},
	} {
		if check.got != check.want {
			t.Errorf("%s: %q, want %q", check.name, check.got, check.want)
		}
	}
	for _, want := range []string{"* a-lfq-1 after 12s: out of memory", "* `gritvq train --size 128 --steps 2000` (all methods)",
		"* `gritvq train --size 128 --steps 2000 --set quantizer.start.sample=655360` (GRIT-VQ)",
		"![Dead codes, 4,096 codes](pictures-dead.svg)"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	// A success stays when a later attempt fails; a run of no table is in none.
	for _, no := range []string{"the machine went away", "30.00"} {
		if strings.Contains(page, no) {
			t.Errorf("the page has %q", no)
		}
	}
	store, err := os.ReadFile(filepath.Join(dir, Name+".jsonl"))
	if err != nil || bytes.Contains(store, []byte("/somewhere")) || bytes.Count(store, []byte("\n")) != 16 {
		t.Errorf("the store has %d lines, or paths of the machine: %v", bytes.Count(store, []byte("\n")), err)
	}
}

func TestMoreRunsFillTheTables(t *testing.T) {
	dir := t.TempDir()
	first := written(t, dir, fixture)
	if again := written(t, dir); again != first {
		t.Error("the store alone gives other tables")
	}
	content, err := os.ReadFile(fixture)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := bytes.Cut(content, []byte("\n"))
	more := filepath.Join(t.TempDir(), "more.jsonl")
	line = bytes.ReplaceAll(bytes.ReplaceAll(line, []byte("a-grit-1"), []byte("a-nsvq-1")), []byte(`"method": "grit"`),
		[]byte(`"method": "nsvq"`))
	if err := os.WriteFile(more, line, 0o644); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(dir, Name+".md")
	mine := strings.Replace(first, "# Tokenizers of pictures\n", "# Mine\n\nCommit 123.\n", 1)
	if err := os.WriteFile(page, []byte(mine), 0o644); err != nil {
		t.Fatal(err)
	}
	second := written(t, dir, more)
	if got := rowOf(t, second, "## (a) Faces at 128 px, 4,096 codes", "NSVQ")["PSNR (dB)"]; got != "26.00 =" {
		t.Errorf("the new run is %q", got)
	}
	if !strings.HasPrefix(second, "# Mine\n\nCommit 123.\n") || strings.Count(second, "<!-- made by bench pictures") != 1 {
		t.Error("what was written above the tables is gone")
	}
}

func TestTablesRefuseWhatTheyCannotShow(t *testing.T) {
	dir := t.TempDir()
	const run = `{"id":"a-grit-1","data":"celeba-128","method":"grit","seed":1,"flags":"--codes 4096","seconds":1}`
	for name, lines := range map[string]string{
		"are grit": run + "\n" + strings.Replace(strings.Replace(run, "a-grit-1", "a-grit-x", 1), "--codes 4096", "--codes 4096 --steps 9", 1),
		"line 2":   run + "\n{",
		"needs an": `{"id":"a-grit-1","seconds":1}`,
		"course":   strings.Replace(run, `"seconds":1`, `"seconds":1,"course":[[1,2]]`, 1),
	} {
		file := filepath.Join(t.TempDir(), "lines.jsonl")
		if err := os.WriteFile(file, []byte(lines), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := Document.Write([]string{file}, dir, task.Silent{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error with %q", err, name)
		}
	}
	if err := Document.Write([]string{filepath.Join(dir, "missing")}, dir, task.Silent{}); err == nil {
		t.Error("a missing file is no error")
	}
	if err := os.WriteFile(filepath.Join(dir, Name+".md"), []byte("by hand"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := Document.Write([]string{fixture}, dir, task.Silent{})
	if err == nil || !strings.Contains(err.Error(), "not made by bench pictures") {
		t.Errorf("a page made by hand: %v", err)
	}
}

func TestFiguresDrawTheRuns(t *testing.T) {
	lines, err := table.ReadLines[Run](fixture)
	if err != nil {
		t.Fatal(err)
	}
	page := &table.Page{}
	if err := fill(page, table.NewRuns(lines)); err != nil {
		t.Fatal(err)
	}
	use := page.Charts["pictures-use.svg"]
	var names []string
	for _, s := range use.Series {
		names = append(names, s.Name)
	}
	if !slices.Equal(names, []string{"STE", "EMA-VQ", "FSQ", "GRIT-VQ"}) || !slices.Equal(use.Series[0].X, []float64{100, 200}) ||
		!slices.Equal(use.Series[0].Y, []float64{50, 75}) {
		t.Errorf("codes in use: %+v", use.Series)
	}
	if psnr := page.Charts["pictures-psnr.svg"]; !slices.Equal(psnr.Series[0].X, []float64{200}) || psnr.Series[0].Y[0] != 25 {
		t.Errorf("PSNR over steps: %+v", psnr.Series)
	}
	curve := page.Charts["pictures-codes-psnr.svg"]
	last := curve.Series[len(curve.Series)-1]
	if last.Name != "GRIT-VQ" || !slices.Equal(last.X, []float64{1024, 4096, 65536}) || math.Abs(last.Y[1]-26.2) > 1e-9 {
		t.Errorf("PSNR against codes: %+v", curve.Series)
	}
}

func FuzzReadRuns(f *testing.F) {
	content, err := os.ReadFile(fixture)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Add([]byte(`{"id":"a-x","data":"celeba-128","method":"m","flags":"--codes","course":[[null,1,1,1,1]]}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		lines, err := table.DecodeLines[Run]("lines", bytes.NewReader(content))
		if err != nil {
			return
		}
		if err := fill(&table.Page{}, table.NewRuns(lines)); err != nil {
			t.Error(err)
		}
	})
}

// Runs of today's networks have tables of their own, and those with a context a row of their own.
func TestRowsOfTodaysNetworks(t *testing.T) {
	const line = `{"id":"p-%s","data":"celeba-128","method":"grit","seed":1,"flags":"--codes 4096%s","seconds":1,"commit":"abc",` +
		`"hardware":"a machine","date":"2026-01-02","at_once":2,"scores":{"psnr":%s,"images":5}}` + "\n"
	runs := fmt.Sprintf(line, "grit-1", "", "27.5") + fmt.Sprintf(line, "grit-context-1", " --set quantizer.transform.context=2", "27.9")
	file, dir := filepath.Join(t.TempDir(), "lines.jsonl"), t.TempDir()
	if err := os.WriteFile(file, []byte(runs), 0o644); err != nil {
		t.Fatal(err)
	}
	page := written(t, dir, fixture, file)
	const today = "## Faces at 128 px, 4,096 codes"
	for row, want := range map[string]string{"GRIT-VQ": "27.50", "GRIT-VQ with context": "**27.90**", "EMA-VQ": ""} {
		if got := rowOf(t, page, today, row)["PSNR (dB)"]; got != want {
			t.Errorf("%s has %q, want %q", row, got, want)
		}
	}
	if got := rowOf(t, page, "## (a) Faces at 128 px, 4,096 codes", "GRIT-VQ")["PSNR (dB)"]; got != "**26.20 ± 0.20**" {
		t.Errorf("the older table has %q", got)
	}
	if !strings.Contains(page, "* commit abc, a machine, 2026-01-02, 2 runs at a time") {
		t.Error("the page does not say where its runs are from")
	}
}
