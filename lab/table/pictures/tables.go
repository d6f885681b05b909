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
var Document = table.Document[Run]{Name: Name, Command: "bench pictures", Title: "Tokenizers of pictures", Letters: "abcd", Fill: fill}

var (
	faceRows     = table.Plan("ste", "ema x 3", "nsvq", "simvq x 3", "diveq", "fsq x 3", "lfq", "rotation", "grit x 3")
	largeRows    = table.Plan("ema", "simvq", "diveq", "fsq", "grit")
	scalingRows  = table.Plan("ema", "diveq", "simvq", "grit")
	levelRows    = table.Plan("diveq", "grit")
	scalingCodes = []int{1 << 10, 1 << 12, 1 << 14, 1 << 16}
	levelCounts  = []int{1, 2, 3}
	largeSets    = []struct{ data, title string }{{"celebahq-256", "CelebA-HQ"}, {"imagenet-256", "ImageNet"}}
)

const (
	faces      = "celeba-128" // the data of most tables
	levelCodes = 1024         // of a residual level
)

func layout(rows []table.Row) table.Layout { return table.Layout{Rows: rows, Name: vq.Title} }

// choice selects the runs of a table. Where sizes are compared, runs of other tables with the same network and data
// fill the size they have.
type choice struct {
	letters, data string
	codes         []int
	levels        []int // nil: any
}

var (
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
		table.Commands(page, chosen, vq.Title)
	}
	scores("(a) Faces at 128 px, 4,096 codes", faceRuns.from(runs), faceRows)
	for _, set := range largeSets {
		scores(fmt.Sprintf("(b) %s at 256 px, 16,384 codes", set.title), choice{"b", set.data, []int{16384}, []int{1}}.from(runs), largeRows)
	}
	scaling := scalingRuns.from(runs)
	page.Text("## (c) Number of codes, faces at 128 px\n")
	for _, m := range []table.Measure{psnr, lpips, used} {
		addScaling(page, scaling, m)
	}
	table.Commands(page, scaling, vq.Title)
	levels := levelRuns.from(runs)
	page.Text("## (d) Residual levels of %s codes, faces at 128 px\n", report.Count(levelCodes))
	groups := table.Groups(levels, func(r Run) string { return strconv.Itoa(r.levels()) })
	page.Table(layout(levelRows).BySetting(groups, levelMeasures, "levels", levelCounts))
	table.Commands(page, levels, vq.Title)
	page.Text("## (e) Codes in use over training, faces at 128 px\n\nSeed 1; of recent batches, as training counts them.\n")
	for _, f := range courses {
		page.Figure(f.file, f.title, f.chart(runs))
	}
	runs.Failures(page)
	return nil
}

func addScaling(page *table.Page, runs []Run, m table.Measure) {
	groups := table.Groups(runs, func(r Run) string { return strconv.Itoa(r.codes()) })
	l, capital := layout(scalingRows), strings.ToUpper(m.Title[:1])+m.Title[1:]
	chart := report.LineChart{Title: capital + ", and the number of codes", XLabel: "codes", YLabel: m.Title, LogX: true, Percent: m.Percent,
		Series: l.Lines(groups, m, scalingCodes)}
	if m.Percent {
		chart.YLabel += " (%)"
	}
	page.Text("### %s\n", capital)
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
			if line := table.CourseLine(vq.Title(r.Method), r.Course, c.column, c.scale); r.Method == row.Method && r.Seed == 1 && len(line.X) > 0 {
				chart.Series = append(chart.Series, line)
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
