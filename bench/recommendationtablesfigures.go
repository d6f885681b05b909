package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gritvq/gritvq/report"
)

// idFigures are those of tokenizers over the steps of training.
var idFigures = []struct {
	file, title string
	column      int // of a course
}{
	{"use", "Codes in use", idsCourseUse},
	{"dead", "Dead codes", idsCourseDead},
}

// recommendationCharts are the figures by the names of their files.
func recommendationCharts(runs []recommendationRun) map[string]report.LineChart {
	charts := map[string]report.LineChart{}
	for _, p := range sweepPlaces(runs) {
		chosen := sweepRuns(runs, p)
		s := sweepOf(chosen, p)
		charts[p.file("codes")] = report.LineChart{Title: fmt.Sprintf("Recall and the number of codes, %s, %s", p.title(), p.kind), XLabel: "codes of a level",
			YLabel: s.measure.title, LogX: true, Series: s.series(chosen)}
	}
	for _, p := range timedPlaces(runs) {
		charts[p.file("time")] = timeChart(timedRuns(runs, p), p)
	}
	for _, p := range coursePlaces(runs) {
		for _, f := range idFigures {
			charts[p.file(f.file)] = courseChart(courseRuns(runs, p), f.title+", "+p.title(), f.column)
		}
	}
	return charts
}

// timeChart draws recall against the time that a search takes in the index, a
// line a method and search; against that of the whole answer where one of the
// former is not known.
func timeChart(runs []recommendationRun, p place) report.LineChart {
	k := mainCutoff(p.kind)
	chart := report.LineChart{Title: fmt.Sprintf("Recall and time, %s, %s", p.title(), p.kind), XLabel: "ms in the index", YLabel: fmt.Sprintf("R@%d", k), LogX: true}
	time := func(s rankScores) float64 { return s.Lookup }
	for _, r := range runs {
		if slices.ContainsFunc(searchesOf(r), func(s rankScores) bool { return s.Lookup == 0 }) {
			chart.XLabel, time = "ms an answer", func(s rankScores) float64 { return s.Alone }
		}
	}
	for _, r := range runs {
		lines := map[string]*report.Series{}
		var order []string
		list := searchesOf(r)
		slices.SortStableFunc(list, func(a, b rankScores) int { return cmp.Compare(time(a), time(b)) })
		for _, s := range list {
			name := recommendationName(r.method()) + ", " + searchName(s)
			if lines[name] == nil {
				lines[name], order = &report.Series{Name: name}, append(order, name)
			}
			lines[name].X, lines[name].Y = append(lines[name].X, time(s)), append(lines[name].Y, at(s.Scores, k).Recall)
		}
		slices.Sort(order)
		for _, name := range order {
			chart.Series = append(chart.Series, *lines[name])
		}
	}
	return chart
}

// courseChart draws a share of the codes against the step.
func courseChart(runs []recommendationRun, title string, column int) report.LineChart {
	chart := report.LineChart{Title: title, XLabel: "step", YLabel: "share of codes (%)", Percent: true, FromZero: true}
	for _, r := range firstSeeds(runs) {
		if line := courseLine(recommendationName(r.method()), r.Course, column, 100); len(line.X) > 0 {
			chart.Series = append(chart.Series, line)
		}
	}
	return chart
}

// firstSeeds keeps one run of every method, that of the least seed, in the order
// of rows.
func firstSeeds(runs []recommendationRun) []recommendationRun {
	var list []recommendationRun
	for _, c := range inOrder(withOthers(nil, runs)) {
		list = append(list, slices.MinFunc(of(runs, c.method, always), func(a, b recommendationRun) int { return cmp.Compare(a.Seed, b.Seed) }))
	}
	return list
}
