// Package pictures makes the page of picture tokenizers, results/pictures.md, from a file of runs.
package pictures

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/tokenizer"
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

// choice selects the runs of a table. Runs of other tables with the same network and data fill the sizes they
// have.
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
			if r.Method == row.Method && r.Seed == 1 {
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

// Run is one line of a file of picture runs.
type Run struct {
	ID      string         `json:"id"` // its first letter names the table it was made for
	Data    string         `json:"data,omitempty"`
	Method  string         `json:"method,omitempty"`
	Seed    uint64         `json:"seed,omitempty"`
	Flags   string         `json:"flags,omitempty"` // of gritvq train, beside those above
	Seconds float64        `json:"seconds"`
	Train   Trained        `json:"train,omitzero"`  // output of train --json
	Scores  picture.Scores `json:"scores,omitzero"` // output of eval --json
	Course  [][]*float64   `json:"course,omitempty"`
	Failed  string         `json:"failed,omitempty"`
}

// The columns of a course; the fourth is perplexity.
const (
	courseStep    = 0
	courseUse     = 1
	courseDead    = 2
	coursePSNR    = 4
	courseColumns = 5
)

// Trained is the part of train --json that the tables need.
type Trained struct {
	Steps   int                     `json:"steps"`
	Seconds float64                 `json:"seconds"`
	Train   tokenizer.PictureScores `json:"train"` // on training pictures
}

// Check implements table.Run.
func (r Run) Check() error {
	if r.ID == "" || r.Failed == "" && (r.Method == "" || r.Data == "") {
		return errors.New("a run needs an id, and data and method unless it failed")
	}
	for _, moment := range r.Course {
		if len(moment) != courseColumns || moment[courseStep] == nil {
			return errors.New("a moment of the course needs step, utilization, dead rate, perplexity and PSNR")
		}
	}
	return nil
}

// About implements table.Run.
func (r Run) About() table.About {
	return table.About{ID: r.ID, Method: r.Method, Seconds: r.Seconds, Failed: r.Failed,
		Cell:    fmt.Sprint(r.Data, " ", r.Method, " ", r.codes(), " ", r.levels(), " ", r.Seed),
		Command: "gritvq train " + table.WithoutFlags(r.Flags, "--codes", "--levels")}
}

func (r Run) codes() int  { return table.Flag(r.Flags, "--codes", 16384) }
func (r Run) levels() int { return table.Flag(r.Flags, "--levels", 1) }

// Record implements table.Run.
func (r Run) Record() table.Record {
	scores := table.Scores{"seconds": r.Train.Seconds}
	if t := r.Train.Train; t.Images > 0 {
		scores["used"], scores["tokens"], scores["dead"] = t.Utilization.Mean, t.TokensPerCode, t.DeadRate
	}
	if s := r.Scores; s.Images > 0 {
		scores["psnr"], scores["ssim"], scores["lpips"], scores["frechet"], scores["kid"] = s.PSNR, s.SSIM, s.LPIPS, s.Frechet, s.KID
		scores["used_held"], scores["tokens_held"], scores["perplexity"] = s.Utilization.Mean, s.TokensPerCode, s.Perplexity.Mean
		scores["bits"], scores["bits_coded"] = s.BitsPerPixel, s.CodedBitsPerPixel
	}
	return table.Record{Method: r.Method, Seed: r.Seed, Scores: scores}
}

var (
	psnr    = table.Measure{Name: "psnr", Title: "PSNR (dB)", Goal: table.Higher, Resolution: table.PSNRResolution, Text: table.Decimals(2)}
	ssim    = table.Measure{Name: "ssim", Title: "SSIM", Goal: table.Higher, Text: table.Decimals(4)}
	lpips   = table.Measure{Name: "lpips", Title: "LPIPS", Goal: table.Lower, Text: table.Decimals(4)}
	frechet = table.Measure{Name: "frechet", Title: "Frechet", Goal: table.Lower, Text: table.Decimals(2)}
	kid     = table.Measure{Name: "kid", Title: "KID", Goal: table.Lower, Text: table.Decimals(4)}
	bits    = table.Measure{Name: "bits", Title: "bits/pixel", Text: table.Decimals(4)}
	used    = table.Measure{Name: "used", Title: "codes used, training", Goal: table.Higher, Percent: true, Text: table.PercentDecimals(1)}

	// measures are the columns of a full table.
	measures = []table.Measure{psnr, ssim, lpips, frechet, kid, used,
		{Name: "used_held", Title: "codes used, held out", Goal: table.Higher, Text: table.PercentDecimals(1)},
		{Name: "tokens", Title: "tokens/code, training", Text: table.Decimals(1)},
		{Name: "tokens_held", Title: "tokens/code, held out", Text: table.Decimals(1)},
		{Name: "dead", Title: "dead", Text: table.PercentDecimals(1)},
		{Name: "perplexity", Title: "perplexity", Text: table.Decimals(0)},
		bits,
		{Name: "bits_coded", Title: "bits/pixel, coded", Text: table.Decimals(4)},
		{Name: "seconds", Title: "seconds", Text: table.Decimals(0)},
	}
	// levelMeasures are the measures of the table of residual levels.
	levelMeasures = []table.Measure{bits, psnr, ssim, lpips, frechet, kid, used}
)
