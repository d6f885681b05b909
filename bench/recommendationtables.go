package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/report"
)

// recommendationResults names the files of the recommendation results.
const recommendationResults = "recommendation"

// recommendationTables adds the runs of files to those in dir and writes the
// tables and figures of all of them there. users is a directory of the ranks of
// every user or query, ID.parquet of run ID, from which the tests of significance
// are made; where it is empty those made before stay.
func recommendationTables(files []string, users, dir string) error {
	page, err := openPage(dir, recommendationResults, "-recommendation", "Recommendation and search over semantic IDs")
	if err != nil {
		return err
	}
	runs, err := readRunFiles[recommendationRun](page.path(".jsonl"), files)
	if err != nil {
		return err
	}
	if err := checkRecommendations(runs); err != nil {
		return err
	}
	tests, err := significance(page.path("-significance.jsonl"), runs, users)
	if err != nil {
		return err
	}
	if unused := unplacedRecommendations(runs); len(unused) > 0 {
		fmt.Fprintf(os.Stderr, "bench: in no table: %s\n", strings.Join(unused, ", "))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	drawn, err := page.draw(recommendationCharts(runs))
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := writeRecommendationTables(&text, runs, tests, drawn); err != nil {
		return err
	}
	if err := storeLines(page.path(".jsonl"), runs); err != nil {
		return err
	}
	if len(tests) > 0 {
		if err := storeLines(page.path("-significance.jsonl"), tests); err != nil {
			return err
		}
	}
	return page.write(text.String())
}

// recommendationSettings says by which commands runs were trained.
func recommendationSettings(runs []recommendationRun, names func(string) string) []setting {
	var list []setting
	for _, r := range runs {
		list = append(list, setting{names(r.method()), r.command()})
	}
	return list
}

// sizes says how large a place is, from its runs.
func sizes(runs []recommendationRun) string {
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

// writeRecommendationTables writes the tables; drawn names the figures there are.
func writeRecommendationTables(w io.Writer, runs []recommendationRun, tests []userTest, drawn map[string]bool) error {
	out := &tableWriter{to: w, drawn: drawn}
	out.text(recommendationLegend)
	for _, s := range sections {
		for _, c := range s.tables(runs) {
			chosen := s.of(runs, c.place)
			out.text(fmt.Sprintf("## %s, %s\n\n%s", s.heading, c.title(), sizes(chosen)))
			out.table(scoreTable(chosen, c.rows, kindMeasures[s.kind], recommendationName))
			out.settings(recommendationSettings(chosen, recommendationName))
		}
	}
	writeColdTables(out, runs)
	writeSignificance(out, tests)
	for _, p := range ablationPlaces(runs) {
		chosen := ablationRuns(runs, p)
		out.text(fmt.Sprintf("## Parts of GRIT-VQ, %s, %s\n\n%s", p.title(), p.kind, sizes(chosen)))
		out.table(scoreTable(chosen, withOthers(ablated, chosen), kindMeasures[p.kind], ablationName))
		writePartSignificance(out, tests, p)
		out.settings(recommendationSettings(chosen, ablationName))
	}
	for _, p := range sweepPlaces(runs) {
		chosen := sweepRuns(runs, p)
		s := sweepOf(chosen, p)
		out.text(fmt.Sprintf("## Recall and the number of codes of a level, %s, %s\n\n%s of IDs of %d codes.\n", p.title(), p.kind, s.measure.title, idLevels))
		out.table(s.table(chosen))
		out.figure(p.file("codes"), s.measure.title+" against the number of codes")
		out.settings(recommendationSettings(chosen, recommendationName))
	}
	for _, p := range timedPlaces(runs) {
		k := mainCutoff(p.kind)
		out.text(fmt.Sprintf("## Recall and time, %s, %s\n\nThe effort is the lists that ivf looks into, or the length of the list that hnsw keeps, which is never shorter than the answer.\nAn answer is the reading of the query by its tower and the search in the index, one alone.\n", p.title(), p.kind))
		out.table(latencyTable(timedRuns(runs, p), k))
		out.figure(p.file("time"), fmt.Sprintf("R@%d against time", k))
	}
	writeIDTables(out, runs)
	writeFailures(out, runs)
	return out.err
}

// writeColdTables shows the scores of users whose item training hardly saw.
func writeColdTables(out *tableWriter, runs []recommendationRun) {
	out.text("## Cold start\n")
	empty := true
	for _, s := range sections {
		for _, c := range s.tables(runs) {
			var chosen []recommendationRun
			for _, r := range s.of(runs, c.place) {
				if len(r.Scores.Cold) > 0 {
					chosen = append(chosen, r)
				}
			}
			if len(chosen) == 0 {
				continue
			}
			empty = false
			out.text(fmt.Sprintf("### %s, %s: items that occur at most %d times in training\n", s.heading, c.title(), chosen[0].Scores.ColdAt))
			out.table(scoreTable(chosen, c.rows, coldMeasures(s.kind), recommendationName))
		}
	}
	if empty {
		out.text("Not measured yet.\n")
	}
}

// writeIDTables shows how codes are used and how they came into use.
func writeIDTables(out *tableWriter, runs []recommendationRun) {
	byData := map[string][]recommendationRun{}
	var order []string
	taken := map[string]bool{}
	for _, r := range runs {
		key := r.Data + " " + r.IDs
		if r.Failed == "" && strings.Contains(tableLetters, r.table()) && r.IDsScores.Items > 0 && r.method() != denseMethod && r.usual() && !taken[key] {
			if byData[r.Data] == nil {
				order = append(order, r.Data)
			}
			byData[r.Data], taken[key] = append(byData[r.Data], r), true
		}
	}
	slices.Sort(order)
	for _, data := range order {
		chosen := byData[data]
		out.text(fmt.Sprintf("## IDs, %s\n\n%s items.\n", place{data: data}.title(), report.Count(chosen[0].IDsScores.Items)))
		out.table(scoreTable(chosen, inOrder(withOthers(nil, chosen)), idMeasures(), recommendationName))
	}
	for _, p := range coursePlaces(runs) {
		out.text(fmt.Sprintf("## Codes in use over training, %s\n\nOf recent batches, as training counts them; LSH and dense IDs have no training.\n", p.title()))
		for _, f := range idFigures {
			out.figure(p.file(f.file), f.title)
		}
		out.settings(recommendationSettings(courseRuns(runs, p), recommendationName))
	}
}

const recommendationLegend = "Means over seeds ± standard deviations; **best**, and = what is tied with it: no further away than the larger of the two deviations (for a single seed, the\n" +
	"typical one of the table's other methods; where all have one seed nothing says what is tied, and only the tests below tell a difference from chance). R is recall, N is NDCG, of every user's last item (or of held-out queries) over the whole catalogue; *collisions* is one less the\n" +
	"number of different codes by that of the items, before a token tells them apart, *codes used* the mean share over the levels (dense IDs are numbers and have neither), *steps* where training stopped.\n" +
	"RQ-VAE starts after a warm-up and moves dead codes, as all do here; *as published* it does not. An empty cell was not measured yet.\n" +
	"Raw figures: [" + recommendationResults + ".jsonl](" + recommendationResults + ".jsonl).\n"
