// Package recommendation makes the page of recommenders and search engines over
// semantic IDs, results/recommendation.md, from a file of runs.
package recommendation

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

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
	for _, c := range contests(runs) {
		page.Text("## %s, %s\n\n%s", c.heading, c.title(), sizes(c.runs))
		addScores(page, c.planned, c.runs, kinds[c.kind].measures, title)
		table.Commands(page, c.runs, title)
	}
	addCold(page, runs)
	addTests(page, tests)
	for _, c := range partContests(runs) {
		page.Text("## %s, %s, %s\n\n%s", c.heading, c.title(), c.kind, sizes(c.runs))
		addScores(page, c.planned, c.runs, kinds[c.kind].measures, partTitle)
		addPartTests(page, tests, c.place)
		table.Commands(page, c.runs, partTitle)
	}
	for _, p := range places(runs, sweepLetter, place{"beauty", dualKind}) {
		addSweep(page, sweepRuns(runs, p), p)
	}
	addTimes(page, runs)
	addIDs(page, runs)
	for _, p := range places(runs, courseLetter, place{"beauty", idsKind}) {
		addCourses(page, atPlace(runs, courseLetter, p, Run.usual), p)
	}
	runs.Failures(page)
}

func addScores(page *table.Page, planned []table.Row, runs []Run, measures []table.Measure, name func(string) string) {
	groups := table.Groups(runs, nil)
	page.Table(layout(planned, groups, name).Scores(groups, measures))
}

func sizes(runs []Run) string {
	for _, r := range runs {
		switch s := r.Scores; {
		case s.Users > 0:
			return fmt.Sprintf("%s users, %s items.\n", report.Count(s.Users), report.Count(s.Items))
		case s.Queries > 0:
			return fmt.Sprintf("%s queries for testing, %s items.\n", report.Count(s.Queries), report.Count(s.Items))
		}
	}
	return "Not measured yet.\n"
}

// addCold adds the scores of users whose item is rare in training.
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
	byData := map[string][]Run{}
	taken := map[string]bool{}
	for _, r := range runs.All {
		key := r.Data + " " + r.IDs
		if r.About().Made(letters) && r.IDsScores.Items > 0 && r.method() != denseMethod && r.usual() && !taken[key] {
			byData[r.Data], taken[key] = append(byData[r.Data], r), true
		}
	}
	for _, data := range slices.Sorted(maps.Keys(byData)) {
		chosen := byData[data]
		page.Text("## IDs, %s\n\n%s items.\n", place{data: data}.title(), report.Count(chosen[0].IDsScores.Items))
		addScores(page, nil, chosen, idMeasures(), title)
	}
}

func addCourses(page *table.Page, runs []Run, p place) {
	page.Text("## Codes in use over training, %s\n\nOf recent batches, as training counts them; LSH and dense IDs have no training.\n",
		p.title())
	for _, f := range []struct {
		file, title string
		column      int
	}{{"use", "Codes in use", courseUse}, {"dead", "Dead codes", courseDead}} {
		chart := report.LineChart{Title: f.title + ", " + p.title(), XLabel: "step", YLabel: "share of codes (%)", Percent: true, FromZero: true}
		for _, r := range firstSeeds(runs) {
			if line := table.CourseLine(title(r.method()), r.Course, f.column, 100); len(line.X) > 0 {
				chart.Series = append(chart.Series, line)
			}
		}
		page.Figure(p.file(f.file), f.title, chart)
	}
	table.Commands(page, runs, title)
}

const legend = table.Legend + `
Where all methods have one seed, nothing is tied, and only the tests below tell a difference from chance. R is recall, N is NDCG, of every
user's last item (or of held-out queries) over the whole catalogue; *collisions* is 1 - (different codes / items), before a token resolves
them; *codes used* is the mean share over the levels (dense IDs are numbers and have neither); *steps* is where training stopped. RQ-VAE
has a warm-up and resets dead codes, as all do here; *as published* it does not. An empty cell was not measured yet.
Raw figures: [` + Name + ".jsonl](" + Name + ".jsonl).\n"
