package main

import (
	"fmt"
	"math"
	"strconv"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/recon"
	"github.com/gritvq/gritvq/tokenizer"
)

// pictureMeasure is a score of the picture tables.
type pictureMeasure struct {
	title    string
	decimals int
	percent  bool
	goal     float64 // 1: higher is better, -1: lower, 0: neither
	of       func(pictureRun) float64
}

// held makes a measure of the held-out pictures.
func held(title string, decimals int, goal float64, of func(recon.Scores) float64) pictureMeasure {
	return pictureMeasure{title, decimals, false, goal, func(r pictureRun) float64 { return r.scored(of) }}
}

var (
	psnr         = held("PSNR (dB)", 2, 1, func(s recon.Scores) float64 { return s.PSNR })
	ssim         = held("SSIM", 4, 1, func(s recon.Scores) float64 { return s.SSIM })
	lpips        = held("LPIPS", 4, -1, func(s recon.Scores) float64 { return s.LPIPS })
	frechet      = held("Frechet", 2, -1, func(s recon.Scores) float64 { return s.Frechet })
	kid          = held("KID", 4, -1, func(s recon.Scores) float64 { return s.KID })
	bitsPerPixel = held("bits/pixel", 4, 0, func(s recon.Scores) float64 { return s.BitsPerPixel })
	usedTraining = pictureMeasure{"codes used, training", 1, true, 1, func(r pictureRun) float64 {
		return r.onTraining(func(s tokenizer.PictureScores) float64 { return s.Utilization.Mean })
	}}
	usedHeld = pictureMeasure{"codes used, held out", 1, true, 1, func(r pictureRun) float64 {
		return r.scored(func(s recon.Scores) float64 { return s.Utilization.Mean })
	}}
)

// pictureMeasures are the columns of a full table.
var pictureMeasures = []pictureMeasure{
	psnr, ssim, lpips, frechet, kid, usedTraining, usedHeld,
	{"tokens/code, training", 1, false, 0, func(r pictureRun) float64 {
		return r.onTraining(func(s tokenizer.PictureScores) float64 { return s.TokensPerCode })
	}},
	held("tokens/code, held out", 1, 0, func(s recon.Scores) float64 { return s.TokensPerCode }),
	{"dead", 1, true, 0, func(r pictureRun) float64 {
		return r.onTraining(func(s tokenizer.PictureScores) float64 { return s.DeadRate })
	}},
	held("perplexity", 0, 0, func(s recon.Scores) float64 { return s.Perplexity.Mean }),
	bitsPerPixel,
	held("bits/pixel, coded", 4, 0, func(s recon.Scores) float64 { return s.CodedBitsPerPixel }),
	{"seconds", 0, false, 0, func(r pictureRun) float64 { return r.Train.Seconds }},
}

// sample is a measure over the seeds of a cell.
type sample struct {
	mean, std float64 // std is NaN for one seed
	n         int     // 0: not measured
}

func sampleOf(runs []pictureRun, m pictureMeasure) sample {
	var values []float64
	for _, r := range runs {
		if value := m.of(r); !math.IsNaN(value) && !math.IsInf(value, 0) {
			values = append(values, value)
		}
	}
	if len(values) == 0 {
		return sample{mean: math.NaN(), std: math.NaN()}
	}
	mean, std := eval.MeanStd(values)
	return sample{mean, std, len(values)}
}

// text writes a sample; one that was not measured is empty.
func (m pictureMeasure) text(s sample) string {
	if s.n == 0 {
		return ""
	}
	text := m.number(s.mean)
	if !math.IsNaN(s.std) && m.goal != 0 {
		text += " ± " + m.number(s.std)
	}
	if m.percent {
		text += " %"
	}
	return text
}

// number writes a value with the measure's decimals.
func (m pictureMeasure) number(x float64) string {
	if m.percent {
		x *= 100
	}
	return strconv.FormatFloat(x, 'f', m.decimals, 64)
}

// pooled is the typical deviation over seeds: the root mean square of those that
// are known, 0 where none is.
func pooled(samples []sample) float64 {
	sum, n := 0.0, 0
	for _, s := range samples {
		if s.n > 1 {
			sum += s.std * s.std
			n++
		}
	}
	return math.Sqrt(sum / float64(max(1, n)))
}

// column writes rival samples of a measure: the best is strong, and what reads
// the same; what is tied with it has an =. A sample alone is no best. typical is the deviation of a sample that has none of its own.
func (m pictureMeasure) column(rivals []sample, typical float64) []report.Cell {
	best, present := -1, 0
	for i, s := range rivals {
		if s.n > 0 {
			present++
		}
		if s.n > 0 && m.goal != 0 && (best < 0 || m.goal*s.mean > m.goal*rivals[best].mean) {
			best = i
		}
	}
	deviation := func(s sample) float64 {
		if s.n > 1 {
			return s.std
		}
		return typical
	}
	cells := make([]report.Cell, len(rivals))
	for i, s := range rivals {
		cells[i].Text = m.text(s)
		switch {
		case best < 0 || s.n == 0 || present < 2:
		case m.number(s.mean) == m.number(rivals[best].mean):
			cells[i].Strong = true
		case math.Abs(s.mean-rivals[best].mean) <= math.Max(deviation(s), deviation(rivals[best])):
			cells[i].Text += " ="
		}
	}
	return cells
}

// of selects the runs of a method.
func of(runs []pictureRun, method string, more func(pictureRun) bool) []pictureRun {
	var chosen []pictureRun
	for _, r := range runs {
		if r.Method == method && more(r) {
			chosen = append(chosen, r)
		}
	}
	return chosen
}

func always(pictureRun) bool { return true }

// withOthers adds the methods that were run without being planned.
func withOthers(planned []contestant, runs []pictureRun) []contestant {
	rows := append([]contestant{}, planned...)
	for _, r := range runs {
		known := false
		for _, c := range rows {
			known = known || c.method == r.Method
		}
		if !known {
			rows = append(rows, contestant{r.Method, 1})
		}
	}
	return rows
}

// scoreTable compares methods in every measure, a row each.
func scoreTable(runs []pictureRun, planned []contestant) report.Table {
	rows := withOthers(planned, runs)
	t := report.Table{Columns: []report.Column{{Name: "method", Align: report.Left}, {Name: "seeds", Align: report.Right}}}
	for _, c := range rows {
		t.Rows = append(t.Rows, report.Cells(displayName(c.method), fmt.Sprintf("%d of %d", len(of(runs, c.method, always)), max(c.seeds, len(of(runs, c.method, always))))))
	}
	for _, m := range pictureMeasures {
		t.Columns = append(t.Columns, report.Column{Name: m.title, Align: report.Right})
		rivals := make([]sample, len(rows))
		for i, c := range rows {
			rivals[i] = sampleOf(of(runs, c.method, always), m)
		}
		for i, cell := range m.column(rivals, pooled(rivals)) {
			t.Rows[i] = append(t.Rows[i], cell)
		}
	}
	return t
}

// scalingTable is one measure of methods (rows) at numbers of codes (columns).
func scalingTable(runs []pictureRun, m pictureMeasure) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "method", Align: report.Left}}}
	for _, c := range scalingContestants {
		t.Rows = append(t.Rows, report.Cells(displayName(c.method)))
	}
	columns, typical := scalingSamples(runs, m)
	for j, rivals := range columns {
		t.Columns = append(t.Columns, report.Column{Name: report.Count(scalingCodes[j]), Align: report.Right})
		for i, cell := range m.column(rivals, typical) {
			t.Rows[i] = append(t.Rows[i], cell)
		}
	}
	return t
}

// scalingSamples are the samples [codes][method] of a measure, and the typical
// deviation of all.
func scalingSamples(runs []pictureRun, m pictureMeasure) ([][]sample, float64) {
	var columns [][]sample
	var all []sample
	for _, codes := range scalingCodes {
		var rivals []sample
		for _, c := range scalingContestants {
			rivals = append(rivals, sampleOf(of(runs, c.method, func(r pictureRun) bool { return r.codes() == codes }), m))
		}
		columns, all = append(columns, rivals), append(all, rivals...)
	}
	return columns, pooled(all)
}

// levelTable compares methods at every number of levels.
func levelTable(runs []pictureRun) report.Table {
	measures := []pictureMeasure{bitsPerPixel, psnr, ssim, lpips, frechet, kid, usedTraining}
	t := report.Table{Columns: []report.Column{{Name: "levels"}, {Name: "method", Align: report.Left}}}
	for _, m := range measures {
		t.Columns = append(t.Columns, report.Column{Name: m.title, Align: report.Right})
	}
	for _, levels := range levelCounts {
		first := len(t.Rows)
		for _, c := range levelContestants {
			t.Rows = append(t.Rows, report.Cells(strconv.Itoa(levels), displayName(c.method)))
		}
		for _, m := range measures {
			var rivals []sample
			for _, c := range levelContestants {
				rivals = append(rivals, sampleOf(of(runs, c.method, func(r pictureRun) bool { return r.levels() == levels }), m))
			}
			for i, cell := range m.column(rivals, pooled(rivals)) {
				t.Rows[first+i] = append(t.Rows[first+i], cell)
			}
		}
	}
	return t
}
