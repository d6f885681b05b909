// Package recommendation makes results/recommendation.md, the page of recommenders and search engines over semantic IDs.
package recommendation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
)

// Name is the stem of the page and its files.
const Name = "recommendation"

// Document writes the page. users is a directory of the ranks of every user or query, ID.parquet of run ID, for
// tests of significance; if it is empty, earlier tests stay.
func Document(users string) table.Document[Run] {
	return table.Document[Run]{Name: Name, Command: "bench recommendation", Title: "Recommendation and search over semantic IDs",
		Letters: letters,
		Fill: func(page *table.Page, runs *table.Runs[Run]) error {
			store := page.Path("-significance.jsonl")
			tests, err := significance(store, runs, users)
			if err != nil {
				return err
			}
			fill(page, runs, tests)
			if len(tests) == 0 {
				return nil
			}
			return atomicfile.WriteJSON(store, "", tests...)
		}}
}

func fill(page *table.Page, runs *table.Runs[Run], tests []Test) {
	page.Text("%s", legend)
	older, missing := false, []string{}
	for _, c := range contests(runs) {
		switch {
		case c.prior != "" && len(c.runs) == 0:
			missing = append(missing, "* "+c.heading+", "+c.title())
			continue
		case c.prior == "" && !older:
			older = true
			if len(missing) > 0 {
				page.Text("## Planned, not measured yet\n\n%s\n", strings.Join(missing, "\n"))
			}
			page.Text("%s", before)
		}
		page.Text("## %s, %s\n\n%s", c.heading, c.title(), sizes(c.runs))
		addScores(page, c.planned, c.runs, kinds[c.kind].measures, title)
		table.Commands(page, c.runs, title)
		addReferences(page, c)
	}
	addCold(page, runs)
	addTests(page, tests)
	for _, c := range partContests(runs) {
		page.Text("## %s, %s, %s\n\n%s", c.heading, c.title(), c.kind, sizes(c.runs))
		addScores(page, c.planned, c.runs, kinds[c.kind].measures, partTitle)
		addPartTests(page, tests, c.place)
		table.Commands(page, c.runs, partTitle)
	}
	for _, p := range places(runs, SweepLetter, place{data: "beauty", kind: DualKind}) {
		addSweep(page, sweepRuns(runs, p), p)
	}
	addTimes(page, runs)
	addIDs(page, runs)
	for _, p := range places(runs, courseLetter, place{data: "beauty", kind: idsKind}) {
		addCourses(page, atPlace(runs, courseLetter, p, Run.usual), p)
	}
	runs.Failures(page)
}

func addScores(page *table.Page, planned []table.Row, runs []Run, measures []table.Measure, name func(string) string) {
	groups := table.Groups(runs, nil)
	page.Table(layout(planned, groups, name).Scores(groups, measures))
}

const before = `## Before classical scores

The models of the tables below, up to those of GRIT's parts, start from nothing, one tokenizer serves Amazon's three
catalogues, and items of the history stay in the lists unless a heading says otherwise.
`

// addReferences shows the classical models that were scored beside a table's models, and how our model differs from them.
func addReferences(page *table.Page, c contest) {
	const k = 10
	chosen := slices.DeleteFunc(slices.Clone(c.runs), func(r Run) bool { return len(r.Scores.References) == 0 })
	if len(chosen) == 0 {
		return
	}
	ours := chosen[0]
	for _, r := range firstSeeds(chosen) {
		if r.method() == ourMethod {
			ours = r
		}
	}
	t := report.Table{Columns: append(report.Columns(report.Left, "reference, settings chosen on validation"),
		report.Columns(report.Right, "R@10", "N@10", "difference in R@10", "interval", "difference in N@10", "interval")...)}
	for _, ref := range ours.Scores.References {
		s := at(ref.Scores, k)
		row := report.Cells(ref.Settings, fmt.Sprintf("%.4f", s.Recall), fmt.Sprintf("%.4f", s.NDCG))
		for _, metric := range []eval.RankMetric{eval.Recall, eval.NDCG} {
			difference, interval := "", ""
			for _, d := range ref.Against {
				if d.Metric == metric && d.K == k {
					difference, interval = fmt.Sprintf("%+.4f", d.Model-d.Reference), fmt.Sprintf("%+.4f to %+.4f", d.Low, d.High)
				}
			}
			row = append(row, report.Cells(difference, interval)...)
		}
		t.Rows = append(t.Rows, row)
	}
	page.Text("References on the same split by the same rules; differences are of %s with seed %d less the reference,\n"+
		"with the paired 95 %% interval over %s:\n", title(ours.method()), ours.Seed, kinds[c.kind].asked)
	page.Table(t)
}

func sizes(runs []Run) string {
	for _, r := range runs {
		switch s := r.Scores; {
		case s.Users > 0:
			rule := "stay in the lists (`--seen keep`)"
			if r.place().dropped {
				rule = "are left out of the lists (`--seen drop`)"
			}
			return fmt.Sprintf("%s users, %s items. Items of the user's history %s.\n", report.Count(s.Users), report.Count(s.Items), rule)
		case s.Queries > 0:
			return fmt.Sprintf("%s queries for testing, %s items.\n", report.Count(s.Queries), report.Count(s.Items))
		}
	}
	return "Not measured yet.\n"
}

func addCold(page *table.Page, runs *table.Runs[Run]) {
	page.Text("## Cold start\n")
	empty := true
	for _, c := range contests(runs) {
		cold := slices.DeleteFunc(c.runs, func(r Run) bool { return len(r.Scores.Cold) == 0 })
		if len(cold) == 0 {
			continue
		}
		empty = false
		page.Text("### %s, %s: items that occur at most %d times in training\n", c.heading, c.title(), cold[0].Scores.ColdAt)
		addScores(page, c.planned, cold, coldMeasures(c.kind), title)
	}
	if empty {
		page.Text("Not measured yet.\n")
	}
}

func addSweep(page *table.Page, runs []Run, p place) {
	groups := table.Groups(runs, func(r Run) string { return strconv.Itoa(r.codes()) })
	l, m, sizes := layout(sweepRows, groups, title), ranking(fmt.Sprintf("R@%d", kinds[p.kind].cutoff)), sweepSizes(runs)
	page.Text("## Recall and the number of codes of a level, %s, %s\n\n%s of IDs of %d codes.\n", p.title(), p.kind, m.Title, idLevels)
	page.Table(l.Sweep(groups, m, sizes))
	page.Figure(p.file("codes"), m.Title+" against the number of codes", report.LineChart{
		Title:  fmt.Sprintf("Recall and the number of codes, %s, %s", p.title(), p.kind),
		XLabel: "codes of a level", YLabel: m.Title, LogX: true, Series: l.Lines(groups, m, sizes)})
	table.Commands(page, runs, title)
}

func addIDs(page *table.Page, runs *table.Runs[Run]) {
	type catalogue struct {
		data string
		own  bool // it has a tokenizer of its own
	}
	made := map[catalogue][]Run{}
	for _, r := range runs.All {
		c := catalogue{r.Data, r.Prior != ""}
		known := slices.ContainsFunc(made[c], func(other Run) bool { return other.IDs == r.IDs })
		if r.About().Made(letters) && r.IDsScores.Items > 0 && coded(r.method()) && r.usual() && !known {
			made[c] = append(made[c], r)
		}
	}
	order := func(a, b catalogue) int {
		return cmp.Or(cmp.Compare(fmt.Sprint(b.own), fmt.Sprint(a.own)), cmp.Compare(a.data, b.data))
	}
	for _, c := range slices.SortedFunc(maps.Keys(made), order) {
		chosen, heading := made[c], place{data: c.data}.title()
		if c.own {
			heading += ", a tokenizer of its own"
		}
		page.Text("## IDs, %s\n\n%s items.\n", heading, report.Count(chosen[0].IDsScores.Items))
		addScores(page, nil, chosen, idMeasures(), title)
	}
}

func addCourses(page *table.Page, runs []Run, p place) {
	page.Text("## Codes in use over training, %s\n\nOf recent batches, as training counts them; LSH and numbers have no training.\n",
		p.title())
	for _, f := range []struct {
		file, title string
		column      int
	}{{"use", "Codes in use", courseUse}, {"dead", "Dead codes", courseDead}} {
		chart := report.LineChart{Title: f.title + ", " + p.title(), XLabel: "step", YLabel: "share of codes (%)", Percent: true, FromZero: true}
		for _, r := range firstSeeds(runs) {
			chart.AddSeries(table.CourseLine(title(r.method()), r.Course, f.column, 100))
		}
		page.Figure(p.file(f.file), f.title, chart)
	}
	table.Commands(page, runs, title)
}

const legend = table.Legend + `
Where all methods have one seed, nothing is tied, and only the tests below tell a difference from chance. R is recall, N is NDCG, of every
user's last item (or of held-out queries) over the whole catalogue; *collisions* is 1 - (different codes / items), before a token resolves
them; *codes used* is the mean share over the levels (dense IDs, a code of its own for every item, and random codes, the items'
numbers spelled in codes, have neither); *steps* is where training stopped. RQ-VAE
has a warm-up and resets dead codes, as all do here; *as published* it does not. An empty cell was not measured yet.
Raw figures: [` + Name + ".jsonl](" + Name + ".jsonl).\n"

func addTimes(page *table.Page, runs *table.Runs[Run]) {
	timed := func(p place) []Run {
		return firstSeeds(atPlace(runs, "dq", p, func(r Run) bool { return len(r.Searches) > 0 && r.usual() }))
	}
	list := slices.DeleteFunc(append(places(runs, "d"), places(runs, "q")...), func(p place) bool { return len(timed(p)) == 0 })
	if len(list) == 0 {
		list = []place{{data: "beauty", kind: DualKind}}
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

// searches lists the evaluations of a run, the exact one first: preferably the one timed with the others.
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
