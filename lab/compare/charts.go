package compare

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/report"
)

// rateCharts draw scores over the true rate, a line a method.
func (k *Kind) rateCharts(summaries []Summary) []report.Part {
	var parts []report.Part
	for _, p := range k.Curves {
		chart := report.LineChart{Title: p.Title, Caption: p.Caption, XLabel: strings.ReplaceAll(k.Rate, "_", " "), YLabel: p.Label, LogY: p.Log, Percent: p.Percent}
		for _, method := range methodsOf(summaries) {
			if line := k.rateSeries(method, p); len(line.X) > 0 {
				chart.Series = append(chart.Series, line)
			}
		}
		if len(chart.Series) > 0 {
			parts = append(parts, chart)
		}
	}
	return parts
}

// methodsOf groups the summaries that worked by method, in the order of first
// appearance.
func methodsOf(summaries []Summary) [][]Summary {
	var groups [][]Summary
	for _, s := range summaries {
		if s.Error != "" {
			continue
		}
		i := slices.IndexFunc(groups, func(g []Summary) bool { return g[0].Method == s.Method })
		if i < 0 {
			groups = append(groups, nil)
			i = len(groups) - 1
		}
		groups[i] = append(groups[i], s)
	}
	return groups
}

func (k *Kind) rateSeries(points []Summary, p Panel) report.Series {
	points = slices.Clone(points)
	slices.SortStableFunc(points, func(a, b Summary) int { return cmp.Compare(a.Score(k.Rate).Mean, b.Score(k.Rate).Mean) })
	line := report.Series{Name: points[0].Method}
	for _, s := range points {
		v, measured := s.Scores[p.Measure]
		if !measured {
			continue
		}
		value, deviation := p.scale()*v.Mean, p.scale()*v.Std
		if math.IsNaN(deviation) {
			deviation = 0
		}
		line.X, line.Y = append(line.X, s.Score(k.Rate).Mean), append(line.Y, value)
		line.Low, line.High = append(line.Low, value-deviation), append(line.High, value+deviation)
	}
	return line
}

// courseCharts draw the training of every method, with its first seed.
func (k *Kind) courseCharts(summaries []Summary) []report.Part {
	charts := []struct {
		chart report.LineChart
		of    func(Moment) *float64
	}{
		{report.LineChart{Title: "Codes in use", Caption: "A line that falls and does not recover is a collapsing codebook.", YLabel: "share of codes used (%)", Percent: true}, func(m Moment) *float64 { return m.Utilization }},
		{report.LineChart{Title: "Dead codes", Caption: "Codes that recent batches never chose; resets should bring the line down.", YLabel: "share of codes (%)", Percent: true}, func(m Moment) *float64 { return m.DeadRate }},
		{report.LineChart{Title: k.Course.Title, Caption: k.Course.Caption, YLabel: k.Course.Label, LogY: k.Course.Log}, func(m Moment) *float64 { return m.Held }},
	}
	var parts []report.Part
	for _, c := range charts {
		c.chart.XLabel = "step"
		for _, s := range summaries {
			line := report.Series{Name: s.Method}
			for _, m := range s.records[0].Course {
				if value := c.of(m); value != nil {
					line.X, line.Y = append(line.X, float64(m.Step)), append(line.Y, Panel{Percent: c.chart.Percent}.scale()**value)
				}
			}
			if len(line.X) > 0 {
				c.chart.Series = append(c.chart.Series, line)
			}
		}
		if len(c.chart.Series) > 0 {
			parts = append(parts, c.chart)
		}
	}
	return parts
}

// codeCharts draw errors by row where they were counted, the use of codes by
// rank, and a histogram of codes for every method.
func codeCharts(summaries []Summary) []report.Part {
	rank := report.LineChart{Title: "Share of assignments by rank", Caption: "The flatter the line and the further right it reaches, the better the codes share the work.",
		XLabel: "rank of the code", YLabel: "share of assignments", LogX: true, LogY: true}
	rows := report.LineChart{Title: "Errors of held-out rows", Caption: "Squared error of a row over the mean squared distance from the mean: further left is better, a long right tail is a group of rows that is coded badly.",
		XLabel: "squared error of a row", YLabel: "share of rows (%)", LogX: true}
	var histograms []report.Part
	for _, s := range summaries {
		r := s.records[0]
		counts := make([]float64, len(r.Usage[0]))
		for i, n := range r.Usage[0] {
			counts[i] = float64(n)
		}
		rank.Series = append(rank.Series, report.RankSeries(s.Method, counts))
		if r.Errors != nil {
			rows.Series = append(rows.Series, errorSeries(s))
		}
		histograms = append(histograms, report.BarChart{Title: "How often each code is chosen, " + s.Method, Caption: "Tall spikes and empty stretches are bad: a flat profile is a full codebook.",
			XLabel: "code", YLabel: "times", Values: counts})
	}
	parts := []report.Part{rank}
	if len(rows.Series) > 0 {
		parts = []report.Part{rows, rank}
	}
	return append(parts, histograms...)
}

// errorSeries is the distribution of a method's errors over all its seeds, from
// the first bin that holds rows to the last.
func errorSeries(s Summary) report.Series {
	edges := ErrorBins()
	counts, total := make([]int, len(edges)+1), 0
	for _, r := range s.records {
		for i, n := range r.Errors {
			counts[i] += n
			total += n
		}
	}
	first, last := len(counts), -1
	for i, n := range counts {
		if n > 0 {
			first, last = min(first, i), i
		}
	}
	line := report.Series{Name: s.Method}
	width := edges[1] / edges[0]
	for i := max(0, first-1); i <= min(len(counts)-1, last+1); i++ {
		edge := edges[0] / width // rows below the first edge
		if i > 0 {
			edge = edges[i-1]
		}
		line.X, line.Y = append(line.X, edge*math.Sqrt(width)), append(line.Y, 100*float64(counts[i])/float64(max(1, total)))
	}
	return line
}
