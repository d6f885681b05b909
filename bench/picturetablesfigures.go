package main

import (
	"strings"

	"github.com/gritvq/gritvq/report"
)

// courseFigure is a figure of something over the steps of training.
type courseFigure struct {
	file, title, label string
	column             int // of a course
	percent            bool
	runs               func([]pictureRun) []pictureRun
}

var courseFigures = []courseFigure{
	{"pictures-use.svg", "Codes in use, 4,096 codes", "share of codes used (%)", courseUse, true, faceRuns},
	{"pictures-dead.svg", "Dead codes, 4,096 codes", "share of codes (%)", courseDead, true, faceRuns},
	{"pictures-psnr.svg", "Held-out PSNR, 4,096 codes", "dB", coursePSNR, false, faceRuns},
	{"pictures-use-65536.svg", "Codes in use, 65,536 codes", "share of codes used (%)", courseUse, true, largestRuns},
	{"pictures-dead-65536.svg", "Dead codes, 65,536 codes", "share of codes (%)", courseDead, true, largestRuns},
}

// largestRuns are those of the most codes.
func largestRuns(runs []pictureRun) []pictureRun {
	return ofTables(runs, "c", faceData, func(r pictureRun) bool { return r.codes() == scalingCodes[len(scalingCodes)-1] })
}

// courseSeed is the seed whose course is drawn.
const courseSeed = 1

func (f courseFigure) chart(runs []pictureRun) report.LineChart {
	chart := report.LineChart{Title: f.title, XLabel: "step", YLabel: f.label, Percent: f.percent}
	scale := 1.0
	if f.percent {
		scale = 100
	}
	chosen := f.runs(runs)
	for _, c := range withOthers(faceContestants, chosen) {
		for _, r := range of(chosen, c.method, func(r pictureRun) bool { return r.Seed == courseSeed }) {
			line := courseLine(displayName(r.Method), r.Course, f.column, scale)
			if len(line.X) > 0 {
				chart.Series = append(chart.Series, line)
			}
		}
	}
	return chart
}

// scalingFile names the figure of a measure against the number of codes.
func scalingFile(m pictureMeasure) string {
	if m.percent {
		return "pictures-codes-used.svg"
	}
	word, _, _ := strings.Cut(strings.ToLower(m.title), " ")
	return "pictures-codes-" + word + ".svg"
}

func scalingChart(runs []pictureRun, m pictureMeasure) report.LineChart {
	chart := report.LineChart{Title: strings.ToUpper(m.title[:1]) + m.title[1:] + ", and the number of codes", XLabel: "codes", YLabel: m.title, LogX: true, Percent: m.percent}
	if m.percent {
		chart.YLabel = m.title + " (%)"
	}
	chart.Series = scalingSweep(m).series(runs)
	return chart
}

// pictureCharts are the figures by the names of their files.
func pictureCharts(runs []pictureRun) map[string]report.LineChart {
	charts := map[string]report.LineChart{}
	for _, m := range []pictureMeasure{psnr, lpips, usedTraining} {
		charts[scalingFile(m)] = scalingChart(scalingRuns(runs), m)
	}
	for _, f := range courseFigures {
		charts[f.file] = f.chart(runs)
	}
	return charts
}
