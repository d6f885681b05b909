package recommendation

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
)

func addTimes(page *table.Page, runs *table.Runs[Run]) {
	timed := func(p place) []Run {
		return firstSeeds(atPlace(runs, "dq", p, func(r Run) bool { return len(r.Searches) > 0 && r.usual() }))
	}
	list := slices.DeleteFunc(append(places(runs, "d"), places(runs, "q")...), func(p place) bool { return len(timed(p)) == 0 })
	if len(list) == 0 {
		list = []place{{"beauty", dualKind}}
	}
	for _, p := range list {
		chosen := timed(p)
		page.Text("## Recall and time, %s, %s\n\nThe effort is the number of lists that ivf searches, or the length of the candidate list\n"+
			"of hnsw, which is never shorter than the answer. An answer is the encoding of one query by its tower\nand the search in the index.\n",
			p.title(), p.kind)
		page.Table(timeTable(chosen, kinds[p.kind].cutoff))
		page.Figure(p.file("time"), fmt.Sprintf("R@%d against time", kinds[p.kind].cutoff), timeChart(chosen, p))
	}
}

func timeTable(runs []Run, k int) report.Table {
	t := report.Table{Columns: append(report.Columns(report.Left, "method", "search"),
		report.Columns(report.Right, "effort", fmt.Sprintf("R@%d", k), "of exact", "ms in the index", "ms an answer", "answers/s")...)}
	for _, r := range runs {
		for _, s := range searches(r) {
			effort, lookup := "", ""
			if s.Effort > 0 {
				effort = fmt.Sprint(s.Effort)
			}
			if s.Lookup > 0 {
				lookup = fmt.Sprintf("%.3f", s.Lookup)
			}
			recall := at(s.Scores, k).Recall
			t.Rows = append(t.Rows, report.Cells(title(r.method()), s.search(), effort, fmt.Sprintf("%.4f", recall),
				fmt.Sprintf("%.1f %%", 100*recall/at(r.Scores.Scores, k).Recall), lookup, fmt.Sprintf("%.3f", s.Alone), fmt.Sprintf("%.0f",
					s.PerSecond)))
		}
	}
	return t
}

// searches lists the evaluations of a run, the exact one first: the one timed with the others on their machine,
// if there is one.
func searches(r Run) []RankScores {
	list := slices.Clone(r.Searches)
	if !slices.ContainsFunc(list, func(s RankScores) bool { return s.search() == exact }) {
		list = append(list, r.Scores)
	}
	slices.SortStableFunc(list, func(a, b RankScores) int { // exact comes before hnsw and ivf
		return cmp.Or(cmp.Compare(a.search(), b.search()), cmp.Compare(a.Effort, b.Effort))
	})
	return list
}

// timeChart draws recall over the time in the index; over that of the whole answer if one of the former is unknown.
func timeChart(runs []Run, p place) report.LineChart {
	k := kinds[p.kind].cutoff
	chart := report.LineChart{Title: fmt.Sprintf("Recall and time, %s, %s", p.title(), p.kind), XLabel: "ms in the index",
		YLabel: fmt.Sprintf("R@%d", k), LogX: true}
	time := func(s RankScores) float64 { return s.Lookup }
	for _, r := range runs {
		if slices.ContainsFunc(searches(r), func(s RankScores) bool { return s.Lookup == 0 }) {
			chart.XLabel, time = "ms an answer", func(s RankScores) float64 { return s.Alone }
		}
	}
	for _, r := range runs {
		list := searches(r)
		slices.SortStableFunc(list, func(a, b RankScores) int {
			return cmp.Or(cmp.Compare(a.search(), b.search()), cmp.Compare(time(a), time(b)))
		})
		last := "" // search
		for _, s := range list {
			if s.search() != last {
				last = s.search()
				chart.Series = append(chart.Series, report.Series{Name: title(r.method()) + ", " + last})
			}
			line := &chart.Series[len(chart.Series)-1]
			line.X, line.Y = append(line.X, time(s)), append(line.Y, at(s.Scores, k).Recall)
		}
	}
	return chart
}
