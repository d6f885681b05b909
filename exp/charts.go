package exp

import (
	"cmp"
	"math"
	"slices"

	"github.com/gritvq/gritvq/report"
)

// rateCharts draw scores over the true bits of a vector, a line a method.
func rateCharts(summaries []Summary) []report.Part {
	charts := []report.LineChart{
		{Title: "Rate and distortion", Caption: "Held-out relative error; bands are standard deviations over seeds.", XLabel: "bits per vector", YLabel: "relative error", LogY: true},
		{Title: "Rate and recall", Caption: "How many of the 10 nearest neighbours decoded vectors keep.", XLabel: "bits per vector", YLabel: "recall@10"},
		{Title: "Codes in use", Caption: "A line that falls is a method that cannot fill larger codebooks.", XLabel: "bits per vector", YLabel: "share of codes used (%)", Percent: true},
	}
	values := []func(s Summary) Stat{
		func(s Summary) Stat { return s.RelativeError },
		func(s Summary) Stat { return s.Recall },
		func(s Summary) Stat { return Stat{100 * s.Utilization.Mean, 100 * s.Utilization.Std} },
	}
	var parts []report.Part
	for i, chart := range charts {
		for _, method := range methodsOf(summaries) {
			chart.Series = append(chart.Series, rateSeries(method, values[i]))
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

func rateSeries(points []Summary, value func(Summary) Stat) report.Series {
	points = slices.Clone(points)
	slices.SortStableFunc(points, func(a, b Summary) int { return cmp.Compare(a.BitsPerVector, b.BitsPerVector) })
	line := report.Series{Name: points[0].Method}
	for _, s := range points {
		v := value(s)
		deviation := v.Std
		if math.IsNaN(deviation) {
			deviation = 0
		}
		line.X, line.Y = append(line.X, s.BitsPerVector), append(line.Y, v.Mean)
		line.Low, line.High = append(line.Low, v.Mean-deviation), append(line.High, v.Mean+deviation)
	}
	return line
}

// courseCharts draw the training of every method, with its first seed.
func courseCharts(summaries []Summary) []report.Part {
	held := report.LineChart{Title: "Held-out error", Caption: "Relative error with hard codes; lower is better.", XLabel: "step", YLabel: "relative error", LogY: true}
	use := report.LineChart{Title: "Codes in use", Caption: "A line that falls and does not recover is a collapsing codebook.", XLabel: "step", YLabel: "share of codes used (%)", Percent: true}
	for _, s := range summaries {
		errors, used := report.Series{Name: s.Method}, report.Series{Name: s.Method}
		for _, m := range s.records[0].Course {
			if m.Held != nil {
				errors.X, errors.Y = append(errors.X, float64(m.Step)), append(errors.Y, *m.Held)
			}
			if m.Utilization != nil {
				used.X, used.Y = append(used.X, float64(m.Step)), append(used.Y, 100**m.Utilization)
			}
		}
		if len(errors.X) > 0 {
			held.Series = append(held.Series, errors)
		}
		if len(used.X) > 0 {
			use.Series = append(use.Series, used)
		}
	}
	var parts []report.Part
	for _, chart := range []report.LineChart{use, held} {
		if len(chart.Series) > 0 {
			parts = append(parts, chart)
		}
	}
	return parts
}

// codeCharts draw errors by row, the use of codes by rank, and a histogram of
// codes for every method.
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
		rows.Series = append(rows.Series, errorSeries(s))
		histograms = append(histograms, report.BarChart{Title: "How often each code is chosen, " + s.Method, Caption: "Tall spikes and empty stretches are bad: a flat profile is a full codebook.",
			XLabel: "code", YLabel: "rows", Values: counts})
	}
	return append([]report.Part{rows, rank}, histograms...)
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
