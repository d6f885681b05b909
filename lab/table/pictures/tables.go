// Package pictures makes the page of picture tokenizers, results/pictures.md, from a file of runs.
package pictures

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/vq"
)

// Name is the stem of the page and its files.
const Name = "pictures"

// Document writes the page.
var Document = table.Document[Run]{Name: Name, Command: "bench pictures", Title: "Tokenizers of pictures", Letters: "pabcd", Fill: fill}

var (
	// Rows of today's networks, which start as a linear map of patches; the others are older.
	linearRows = table.Plan("ema x 5", "fsq x 3", "simvq x 3", "diveq x 3", "ibq x 3", "grit x 5", "ema+context x 5", "grit+context x 5")
	sizeRows   = table.Plan("ema", "grit")
	bitRows    = table.Plan("ema", "grit", "ema+context", "grit+context")

	faceRows     = table.Plan("ste", "ema x 3", "nsvq", "simvq x 3", "diveq", "fsq x 3", "lfq", "rotation", "grit x 3")
	largeRows    = table.Plan("ema", "simvq", "diveq", "fsq", "grit")
	scalingRows  = table.Plan("ema", "diveq", "simvq", "grit")
	levelRows    = table.Plan("diveq", "grit")
	scalingCodes = []int{1 << 10, 1 << 12, 1 << 14, 1 << 16}
	linearCodes  = scalingCodes[:3]
	levelCounts  = []int{1, 2, 3}
	largeSets    = []struct{ data, title string }{{"celebahq-256", "CelebA-HQ"}, {"imagenet-256", "ImageNet"}}
)

const (
	faces      = "celeba-128" // the data of most tables
	levelCodes = 1024         // of a residual level
)

func layout(rows []table.Row) table.Layout { return table.Layout{Rows: rows, Name: title} }

// title is a row's name for readers.
func title(row string) string { return table.RowTitle(row, vq.Title) }

// choice selects the runs of a table. Runs of other tables with the same network and data fill the sizes they
// have.
type choice struct {
	letters, data string
	codes         []int
	levels        []int // nil: any
}

var (
	linearRuns  = choice{"p", faces, []int{4096}, []int{1}}
	sizeRuns    = choice{"p", faces, linearCodes, []int{1}}
	faceRuns    = choice{"a", faces, []int{4096}, []int{1}}
	scalingRuns = choice{"ac", faces, scalingCodes, []int{1}}
	largestRuns = choice{"c", faces, []int{slices.Max(scalingCodes)}, nil}
	levelRuns   = choice{"cd", faces, []int{levelCodes}, levelCounts}
)

func (c choice) from(runs *table.Runs[Run]) []Run {
	return runs.Select(c.letters, func(r Run) bool {
		return r.Data == c.data && slices.Contains(c.codes, r.codes()) && (c.levels == nil || slices.Contains(c.levels, r.levels()))
	})
}

func fill(page *table.Page, runs *table.Runs[Run]) error {
	page.Text("%s", legend)
	scores := func(heading string, chosen []Run, rows []table.Row) {
		groups := table.Groups(chosen, nil)
		page.Text("## %s\n", heading)
		page.Table(layout(rows).With(groups).Scores(groups, measures))
		table.Commands(page, chosen, title)
	}
	scores("Faces at 128 px, 4,096 codes", linearRuns.from(runs), linearRows)
	sizes := sizeRuns.from(runs)
	for _, m := range []table.Measure{psnr, lpips, kid} {
		groups := table.Groups(sizes, func(r Run) string { return strconv.Itoa(r.codes()) })
		page.Text("### %s, and the number of codes, faces at 128 px\n", capital(m.Title))
		page.Table(layout(sizeRows).Sweep(groups, m, linearCodes))
	}
	addBits(page, sizes)
	origins(page, append(slices.Clone(linearRuns.from(runs)), sizes...))
	page.Text("%s", older)
	scores("(a) Faces at 128 px, 4,096 codes", faceRuns.from(runs), faceRows)
	for _, set := range largeSets {
		scores(fmt.Sprintf("(b) %s at 256 px, 16,384 codes", set.title), choice{"b", set.data, []int{16384}, []int{1}}.from(runs), largeRows)
	}
	scaling := scalingRuns.from(runs)
	page.Text("## (c) Number of codes, faces at 128 px\n")
	for _, m := range []table.Measure{psnr, lpips, used} {
		addScaling(page, scaling, m)
	}
	table.Commands(page, scaling, title)
	levels := levelRuns.from(runs)
	page.Text("## (d) Residual levels of %s codes, faces at 128 px\n", report.Count(levelCodes))
	groups := table.Groups(levels, func(r Run) string { return strconv.Itoa(r.levels()) })
	page.Table(layout(levelRows).BySetting(groups, levelMeasures, "levels", levelCounts))
	table.Commands(page, levels, title)
	page.Text("## (e) Codes in use over training, faces at 128 px\n\nSeed 1; of recent batches, as training counts them.\n")
	for _, f := range courses {
		page.Figure(f.file, f.title, f.chart(runs))
	}
	runs.Failures(page)
	return nil
}

// addBits shows scores over bits a pixel before and after entropy coding: the coder's own model also finds part of what
// contexts save.
func addBits(page *table.Page, runs []Run) {
	groups := table.Groups(runs, func(r Run) string { return strconv.Itoa(r.codes()) })
	page.Text("### Bits a pixel before and after entropy coding, faces at 128 px\n")
	page.Table(layout(bitRows).BySetting(groups, bitMeasures, "codes", linearCodes))
	for _, over := range []table.Measure{bits, coded} {
		for _, m := range []table.Measure{psnr, lpips} {
			title := fmt.Sprintf("%s over %s", capital(m.Title), over.Title)
			page.Figure("pictures-"+over.Name+"-"+m.Name+".svg", title, report.LineChart{Title: title, XLabel: over.Title, YLabel: m.Title,
				Series: layout(bitRows).Curves(groups, over, m, linearCodes)})
		}
	}
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// origins says where and from which commit the runs of today's networks are.
func origins(page *table.Page, runs []Run) {
	var lines []string
	for _, r := range runs {
		line := fmt.Sprintf("* commit %s, %s, %s, %d runs at a time", r.Commit, r.Hardware, r.Date, r.AtOnce)
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	for _, line := range lines {
		page.Text("%s", line)
	}
	page.Text("")
}

func addScaling(page *table.Page, runs []Run, m table.Measure) {
	groups := table.Groups(runs, func(r Run) string { return strconv.Itoa(r.codes()) })
	l := layout(scalingRows)
	chart := report.LineChart{Title: capital(m.Title) + ", and the number of codes",
		XLabel: "codes", YLabel: m.Title, LogX: true, Percent: m.Percent,
		Series: l.Lines(groups, m, scalingCodes)}
	if m.Percent {
		chart.YLabel += " (%)"
	}
	page.Text("### %s\n", capital(m.Title))
	page.Table(l.Sweep(groups, m, scalingCodes))
	page.Figure("pictures-codes-"+m.Name+".svg", m.Title+" against the number of codes", chart)
}

type course struct {
	file, title, label string
	column             int // of a run's course
	scale              float64
	runs               choice
}

var courses = []course{
	{"pictures-use.svg", "Codes in use, 4,096 codes", "share of codes used (%)", courseUse, 100, faceRuns},
	{"pictures-dead.svg", "Dead codes, 4,096 codes", "share of codes (%)", courseDead, 100, faceRuns},
	{"pictures-psnr.svg", "Held-out PSNR, 4,096 codes", "dB", coursePSNR, 1, faceRuns},
	{"pictures-use-65536.svg", "Codes in use, 65,536 codes", "share of codes used (%)", courseUse, 100, largestRuns},
	{"pictures-dead-65536.svg", "Dead codes, 65,536 codes", "share of codes (%)", courseDead, 100, largestRuns},
}

func (c course) chart(runs *table.Runs[Run]) report.LineChart {
	chart := report.LineChart{Title: c.title, XLabel: "step", YLabel: c.label, Percent: c.scale == 100}
	chosen := c.runs.from(runs)
	for _, row := range layout(faceRows).With(table.Groups(chosen, nil)).Rows {
		for _, r := range chosen {
			if r.row() == row.Method && r.Seed == 1 {
				chart.AddSeries(table.CourseLine(vq.Title(r.Method), r.Course, c.column, c.scale))
			}
		}
	}
	return chart
}

const legend = table.Legend + `
PSNR, SSIM, LPIPS, Frechet distance and KID are of held-out pictures. *Used* is the share of the codes that some token chooses, of training
and of held-out pictures, with the number of tokens for each code; *dead* is the share of codes that training pictures do not use. An
empty cell was not measured yet.
Raw figures: [` + Name + ".jsonl](" + Name + ".jsonl).\n"

const older = `## Before the linear path

Networks of these tables began at random. Today's networks start as a linear map of patches.
`

var (
	psnr    = table.Measure{Name: "psnr", Title: "PSNR (dB)", Goal: table.Higher, Resolution: table.PSNRResolution, Text: table.Decimals(2)}
	ssim    = table.Measure{Name: "ssim", Title: "SSIM", Goal: table.Higher, Text: table.Decimals(4)}
	lpips   = table.Measure{Name: "lpips", Title: "LPIPS", Goal: table.Lower, Text: table.Decimals(4)}
	frechet = table.Measure{Name: "frechet", Title: "Frechet", Goal: table.Lower, Text: table.Decimals(2)}
	kid     = table.Measure{Name: "kid", Title: "KID", Goal: table.Lower, Text: table.Decimals(4)}
	bits    = table.Measure{Name: "bits", Title: "bits/pixel", Text: table.Decimals(4)}
	coded   = table.Measure{Name: "bits_coded", Title: "bits/pixel, coded", Text: table.Decimals(4)}
	used    = table.Measure{Name: "used", Title: "codes used, training", Goal: table.Higher, Percent: true, Text: table.PercentDecimals(1)}

	// measures are the columns of a full table.
	measures = []table.Measure{psnr, ssim, lpips, frechet, kid, used,
		{Name: "used_held", Title: "codes used, held out", Goal: table.Higher, Text: table.PercentDecimals(1)},
		{Name: "tokens", Title: "tokens/code, training", Text: table.Decimals(1)},
		{Name: "tokens_held", Title: "tokens/code, held out", Text: table.Decimals(1)},
		{Name: "dead", Title: "dead", Text: table.PercentDecimals(1)},
		{Name: "perplexity", Title: "perplexity", Text: table.Decimals(0)},
		bits,
		coded,
		{Name: "seconds", Title: "seconds", Text: table.Decimals(0)},
	}
	// bitMeasures are the measures of the table of bits.
	bitMeasures = []table.Measure{bits, coded, psnr, lpips, kid}
	// levelMeasures are the measures of the table of residual levels.
	levelMeasures = []table.Measure{bits, psnr, ssim, lpips, frechet, kid, used}
)
