package compare

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
)

func (k *Kind) rateCharts(summaries []Summary) []report.Part {
	var methods []string // that worked, in the order of first appearance
	for _, s := range summaries {
		if s.Error == "" && !slices.Contains(methods, s.Method) {
			methods = append(methods, s.Method)
		}
	}
	var parts []report.Part
	for _, p := range k.Curves {
		chart := p.chart(strings.ReplaceAll(k.Rate, "_", " "))
		for _, method := range methods {
			chart.AddSeries(k.rateLine(summaries, method, p))
		}
		if len(chart.Series) > 0 {
			parts = append(parts, chart)
		}
	}
	return parts
}

func (k *Kind) rateLine(summaries []Summary, method string, p Panel) report.Series {
	points := slices.DeleteFunc(slices.Clone(summaries), func(s Summary) bool { return s.Method != method || s.Score(p.Measure).N == 0 })
	slices.SortStableFunc(points, func(a, b Summary) int { return cmp.Compare(a.Score(k.Rate).Mean, b.Score(k.Rate).Mean) })
	line := report.Series{Name: method}
	for _, s := range points {
		v := s.Score(p.Measure)
		value, deviation := p.scale()*v.Mean, p.scale()*spread(v)
		line.Add(s.Score(k.Rate).Mean, value)
		line.Low, line.High = append(line.Low, value-deviation), append(line.High, value+deviation)
	}
	return line
}

// spread is the deviation of a score, 0 for one seed.
func spread(s table.Stat) float64 {
	if math.IsNaN(s.Std) {
		return 0
	}
	return s.Std
}

// courseCharts draw the training of every method, with its first seed.
func (k *Kind) courseCharts(summaries []Summary) []report.Part {
	var parts []report.Part
	for _, chart := range []report.LineChart{
		courseChart(summaries, Panel{Title: "Codes in use", Label: "share of codes used (%)", Percent: true,
			Caption: "A line that falls and does not recover is a collapsing codebook."}, func(m Moment) *float64 { return m.Utilization }),
		courseChart(summaries, Panel{Title: "Dead codes", Label: "share of codes (%)", Percent: true,
			Caption: "Codes that recent batches never chose; resets should bring the line down."}, func(m Moment) *float64 { return m.DeadRate }),
		k.heldChart(summaries),
	} {
		if len(chart.Series) > 0 {
			parts = append(parts, chart)
		}
	}
	return parts
}

func (k *Kind) heldChart(summaries []Summary) report.LineChart {
	return courseChart(summaries, k.Course, func(m Moment) *float64 { return m.Held })
}

func courseChart(summaries []Summary, p Panel, of func(Moment) *float64) report.LineChart {
	chart := p.chart("step")
	for _, s := range summaries {
		line := report.Series{Name: s.Method}
		for _, m := range s.records[0].Course {
			if value := of(m); value != nil {
				line.Add(float64(m.Step), p.scale()**value)
			}
		}
		chart.AddSeries(line)
	}
	return chart
}

func codeCharts(summaries []Summary) []report.Part {
	rank := report.LineChart{Title: "Share of assignments by rank", XLabel: "rank of the code", YLabel: "share of assignments",
		LogX: true, LogY: true, Caption: "The flatter the line and the further right it reaches, the better the codes share the work."}
	rows := report.LineChart{Title: "Errors of held-out rows", XLabel: "squared error of a row", YLabel: "share of rows (%)", LogX: true,
		Caption: "Squared error of a row over the mean squared distance from the mean: further left is better, " +
			"a long right tail is a group of badly coded rows."}
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
		histograms = append(histograms, report.BarChart{Title: "How often each code is chosen, " + s.Method, XLabel: "code", YLabel: "times",
			Values: counts, Caption: "Tall spikes and empty stretches are bad: a flat profile is a full codebook."})
	}
	parts := []report.Part{rank}
	if len(rows.Series) > 0 {
		parts = []report.Part{rows, rank}
	}
	return append(parts, histograms...)
}

// errorSeries is the distribution of errors over all seeds, from the first bin with rows to the last.
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
		line.Add(edge*math.Sqrt(width), 100*float64(counts[i])/float64(max(1, total)))
	}
	return line
}
