package generation

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
)

// Name is the stem of the page and its files.
const Name = "generation"

// Document writes the page. Tables: a, main; b, large pictures; c and d, small and large codebooks; s, a small edition for
// two cores.
var Document = table.Document[Record]{Name: Name, Command: "bench generation", Title: "Generation of pictures from codes",
	Letters: "abcds", Fill: fill}

var (
	kid = table.Measure{Name: "kid", Title: "KID", Goal: table.Lower, Text: table.Decimals(4)}
	// Samples against held-out pictures.
	kidHeld    = table.Measure{Name: "kid_held", Title: "KID, held out", Goal: table.Lower, Text: table.Decimals(4)}
	frechet    = table.Measure{Name: "frechet", Title: "Frechet", Goal: table.Lower, Text: table.Decimals(2)}
	infinity   = table.Measure{Name: "frechet_infinity", Title: "Frechet∞", Goal: table.Lower, Text: table.Decimals(2)}
	precision  = table.Measure{Name: "precision", Title: "precision", Goal: table.Higher, Text: table.Decimals(3)}
	recall     = table.Measure{Name: "recall", Title: "recall", Goal: table.Higher, Text: table.Decimals(3)}
	diversity  = table.Measure{Name: "diversity", Title: "diversity", Goal: table.Neither, Text: table.Decimals(3)}
	near       = table.Measure{Name: "near", Title: "near training", Goal: table.Neither, Text: table.PercentDecimals(1)}
	nearLPIPS  = table.Measure{Name: "near_lpips", Title: "nearest, LPIPS", Goal: table.Neither, Text: table.Decimals(3)}
	psnr       = table.Measure{Name: "psnr", Title: "PSNR (dB)", Goal: table.Higher, Resolution: table.PSNRResolution, Text: table.Decimals(2)}
	lpips      = table.Measure{Name: "lpips", Title: "LPIPS", Goal: table.Lower, Text: table.Decimals(4)}
	used       = table.Measure{Name: "used", Title: "codes used", Goal: table.Higher, Percent: true, Text: table.PercentDecimals(1)}
	bits       = table.Measure{Name: "bits", Title: "bits a picture", Goal: table.Lower, Text: table.Decimals(0)}
	perplexity = table.Measure{Name: "perplexity", Title: "perplexity", Goal: table.Lower, Text: table.Decimals(1)}

	drawn   = []table.Measure{kid, kidHeld, frechet, infinity, precision, recall, diversity, near}
	through = []table.Measure{bits, perplexity, psnr, lpips, used}
)

var (
	mainRows = table.Plan("ste", "ema x 3", "gumbel", "nsvq", "simvq", "diveq x 3", "sf-diveq", "fsq x 3", "lfq", "hypervq", "grit x 3",
		"ema+context", "grit+context x 3")
	largeRows = table.Plan(largeMethods...)
	sweepRows = table.Plan(sweepMethods...)
)

func layout(rows []table.Row) table.Layout { return table.Layout{Rows: rows, Name: title} }

// of selects the records of some tables, with some numbers of codes.
func of(runs *table.Runs[Record], letters, data string, codes ...int) []Record {
	return runs.Select(letters, func(r Record) bool {
		return (data == "" || r.Data == data) && (len(codes) == 0 || slices.Contains(codes, r.Codes))
	})
}

func fill(page *table.Page, runs *table.Runs[Record]) error {
	page.Text("%s", legend)
	first := of(runs, "a", faces.name, mainCodes)
	addScores(page, "## (a) Faces at 128 px, 512 codes (B = 9)", first, mainRows, drawn, through)
	addPaper(page, first)
	for _, s := range large {
		measures := append([]table.Measure{nearLPIPS, near}, through...)
		addScores(page, fmt.Sprintf("## (b) %s, 512 codes", s.name), of(runs, "b", s.name), largeRows, measures)
	}
	low := of(runs, "ac", faces.name, append(slices.Clone(lowCodes), mainCodes)...)
	addSweep(page, "## (c) Low bitrates, faces at 128 px", low, append(slices.Clone(lowCodes), mainCodes), kid)
	scaling := of(runs, "d", faces.name, largeCodes...)
	addSweep(page, "## (d) Number of codes, faces at 128 px", scaling, largeCodes, kid, used, perplexity, bits, psnr, lpips)
	addDrawings(page)
	addFigures(page, of(runs, "acd", faces.name))
	addVerdicts(page, first, scaling)
	small := of(runs, "s", "")
	if len(small) > 0 {
		page.Text("## A small edition for two cores\n")
		page.Text("Tiny networks, few steps, one seed: it shows that the pipeline runs and compares nothing.\n")
		groups := table.Groups(small, nil)
		l := layout(nil).With(groups)
		page.Table(l.Scores(groups, drawn))
		page.Table(l.Scores(groups, through))
		table.Commands(page, small, title)
	}
	for _, r := range runs.All {
		if r.Failed == "" {
			page.Text("* %s: commit %s, %s, %s, %s", r.ID, r.Commit, r.Hardware, r.Backend, r.Date)
		}
	}
	page.Text("")
	runs.Failures(page)
	return nil
}

func addScores(page *table.Page, heading string, records []Record, rows []table.Row, tables ...[]table.Measure) {
	page.Text("%s\n", heading)
	groups := table.Groups(records, nil)
	for _, measures := range tables {
		page.Table(layout(rows).With(groups).Scores(groups, measures))
	}
	table.Commands(page, records, title)
}

func addSweep(page *table.Page, heading string, records []Record, codes []int, measures ...table.Measure) {
	page.Text("%s\n", heading)
	groups := table.Groups(records, Record.codes)
	for _, m := range measures {
		page.Text("### %s\n", m.Title)
		page.Table(layout(sweepRows).Sweep(groups, m, codes))
	}
	table.Commands(page, records, title)
}

// addDrawings shows the drawings of samples that are there, see [Draw].
func addDrawings(page *table.Page) {
	page.Text("## Samples\n")
	shown := false
	for _, s := range append([]set{faces}, large...) {
		if end := drawing(s.name); output.Present(page.Path(end)) {
			page.Text("%s, %d codes, the same seeds in every row:\n\n![Samples of the methods, %[1]s](%[3]s)\n", s.name, mainCodes, Name+end)
			shown = true
		}
	}
	if !shown {
		page.Text("Not measured yet.\n")
	}
}

// addFigures draws what the paper draws, and the rate-distortion curves through the prior.
func addFigures(page *table.Page, records []Record) {
	page.Text("## Figures, faces at 128 px\n")
	page.Text("Bits a picture are those of the prior for held-out pictures: what a file of the codes would take.\n")
	groups := table.Groups(records, Record.codes)
	codes := append(append(slices.Clone(lowCodes), mainCodes), largeCodes...)
	l := layout(sweepRows)
	page.Figure(Name+"-perplexity.svg", "Perplexity of the prior against the number of codes", report.LineChart{Title: "Perplexity a token",
		XLabel: "codes", YLabel: "perplexity", LogX: true, LogY: true, Series: l.Lines(groups, perplexity, codes)})
	page.Figure(Name+"-kid.svg", "KID of samples against the number of codes", report.LineChart{Title: "KID of samples", XLabel: "codes",
		YLabel: "KID", LogX: true, Series: l.Lines(groups, kid, codes)})
	for _, f := range []struct {
		file, title string
		x, y        table.Measure
	}{
		{"psnr", "PSNR against bits a picture under the prior", bits, psnr},
		{"lpips", "LPIPS against bits a picture under the prior", bits, lpips},
		{"scatter", "KID of samples against LPIPS of reconstructions", lpips, kid},
	} {
		page.Figure(Name+"-"+f.file+".svg", f.title, report.LineChart{Title: f.title, XLabel: f.x.Title, YLabel: f.y.Title,
			Series: curves(l.With(groups), groups, f.x, f.y, codes)})
	}
}

// curves draw one score against another, a line a method over the numbers of codes.
func curves(l table.Layout, groups []table.Group, x, y table.Measure, codes []int) (lines []report.Series) {
	for _, r := range l.Rows {
		line := report.Series{Name: l.Name(r.Method)}
		for _, k := range codes {
			g := table.Find(groups, r.Method, strconv.Itoa(k))
			if a, b := g.Score(x.Name), g.Score(y.Name); a.N > 0 && b.N > 0 {
				line.X, line.Y = append(line.X, a.Mean), append(line.Y, b.Mean)
			}
		}
		if len(line.X) > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

const legend = table.Legend + `
KID, Frechet distance, precision, recall and diversity are of samples at temperature 1, without truncation, against the
training pictures, in the features of MobileNetV2; KID leads, because its expectation does not depend on the number of
pictures. *Near training* is the share of samples nearer to a training picture than the 5th percentile of held-out pictures:
5 % is expected. PSNR, LPIPS and codes used are of reconstructed held-out pictures; bits a picture and perplexity are of the
prior on their codes. Empty cells were not measured.
Raw figures: [` + Name + ".jsonl](" + Name + ".jsonl).\n"
