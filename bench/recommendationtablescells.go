package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/report"
)

type recommendationMeasure = measure[recommendationRun]

// ranking makes a measure of lists cut at k; cold are those of rare items.
func ranking(letter string, k int, cold bool, of func(eval.RankingScores) float64) recommendationMeasure {
	return recommendationMeasure{fmt.Sprintf("%s@%d", letter, k), 4, false, 1, func(r recommendationRun) float64 {
		if cold {
			return of(at(r.Scores.Cold, k))
		}
		return of(at(r.Scores.Scores, k))
	}}
}

func recallAt(k int) recommendationMeasure {
	return ranking("R", k, false, func(s eval.RankingScores) float64 { return s.Recall })
}

func ndcgAt(k int) recommendationMeasure {
	return ranking("N", k, false, func(s eval.RankingScores) float64 { return s.NDCG })
}

func mrrAt(k int) recommendationMeasure {
	return ranking("MRR", k, false, func(s eval.RankingScores) float64 { return s.MRR })
}

// ofIDs is a measure of the IDs. Dense IDs are numbers: they have none.
func ofIDs(title string, decimals int, percent bool, goal float64, of func(idsScores) float64) recommendationMeasure {
	return recommendationMeasure{title, decimals, percent, goal, func(r recommendationRun) float64 {
		if r.IDsScores.Items == 0 || r.method() == denseMethod {
			return math.NaN()
		}
		return of(r.IDsScores)
	}}
}

var (
	collisions  = ofIDs("collisions", 2, true, -1, func(s idsScores) float64 { return s.Before.Rate })
	utilization = ofIDs("codes used", 1, true, 1, func(s idsScores) float64 {
		if s.Utilization == nil {
			return math.NaN()
		}
		return *s.Utilization
	})
	// answerTime is that of one question alone, on the machine of the run.
	answerTime = recommendationMeasure{"ms an answer", 2, false, 0, func(r recommendationRun) float64 { return positive(r.Scores.Alone) }}
	answerRate = recommendationMeasure{"answers/s", 0, false, 0, func(r recommendationRun) float64 { return positive(r.Scores.PerSecond) }}
	// lastStep is where training ended, early or not.
	lastStep = recommendationMeasure{"steps", 0, false, 0, func(r recommendationRun) float64 {
		if len(r.Course) == 0 {
			return math.NaN()
		}
		return *r.Course[len(r.Course)-1][idsCourseStep]
	}}
)

// positive is x, or NaN where it was not measured.
func positive(x float64) float64 {
	if x <= 0 {
		return math.NaN()
	}
	return x
}

// kindMeasures are the columns of the tables of a kind.
var kindMeasures = map[string][]recommendationMeasure{
	generativeKind: {recallAt(5), ndcgAt(5), recallAt(10), ndcgAt(10), recallAt(20), collisions, utilization, answerRate, lastStep},
	dualKind:       {recallAt(10), ndcgAt(10), recallAt(50), ndcgAt(50), recallAt(100), ndcgAt(100), collisions, utilization, answerTime, lastStep},
	searchKind:     {recallAt(10), ndcgAt(10), mrrAt(10), recallAt(50), recallAt(100), collisions, utilization, answerTime, lastStep},
}

// coldMeasures are those of rare items.
func coldMeasures(kind string) []recommendationMeasure {
	k, asked := mainCutoff(kind), "users"
	if kind == searchKind {
		asked = "queries"
	}
	return []recommendationMeasure{
		ranking("R", k, true, func(s eval.RankingScores) float64 { return s.Recall }),
		ranking("N", k, true, func(s eval.RankingScores) float64 { return s.NDCG }),
		{asked, 0, false, 0, func(r recommendationRun) float64 { return positive(float64(at(r.Scores.Cold, k).Users)) }},
	}
}

// mainCutoff is the one that figures and tests go by: that of the paper's tables.
func mainCutoff(kind string) int {
	if kind == generativeKind {
		return 10
	}
	return 50
}

// idLevels is the length of the IDs that are compared, but for a token at the end.
const idLevels = 4

// idMeasures are the columns of the table of IDs.
func idMeasures() []recommendationMeasure {
	list := []recommendationMeasure{collisions,
		ofIDs("after", 2, true, 0, func(s idsScores) float64 { return s.After.Rate }),
		ofIDs("largest group", 0, false, 0, func(s idsScores) float64 { return float64(s.Before.Largest) })}
	for level := range idLevels {
		list = append(list, ofIDs(fmt.Sprintf("used, level %d", level+1), 1, true, 1, func(s idsScores) float64 {
			if level >= len(s.Positions) {
				return math.NaN()
			}
			return s.Positions[level].Utilization
		}))
	}
	return list
}

// latencyTable shows what other searches find and take, a row each.
func latencyTable(runs []recommendationRun, k int) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "method", Align: report.Left}, {Name: "search", Align: report.Left}}}
	for _, name := range []string{"effort", fmt.Sprintf("R@%d", k), "of exact", "ms in the index", "ms an answer", "answers/s"} {
		t.Columns = append(t.Columns, report.Column{Name: name, Align: report.Right})
	}
	for _, r := range runs {
		exact := at(r.Scores.Scores, k).Recall
		for _, s := range searchesOf(r) {
			effort, lookup := "", ""
			if s.Effort > 0 {
				effort = fmt.Sprint(s.Effort)
			}
			if s.Lookup > 0 {
				lookup = fmt.Sprintf("%.3f", s.Lookup)
			}
			recall := at(s.Scores, k).Recall
			t.Rows = append(t.Rows, report.Cells(recommendationName(r.method()), searchName(s), effort, fmt.Sprintf("%.4f", recall), fmt.Sprintf("%.1f %%", 100*recall/exact), lookup,
				fmt.Sprintf("%.3f", s.Alone), fmt.Sprintf("%.0f", s.PerSecond)))
		}
	}
	return t
}

func searchName(s rankScores) string { return cmp.Or(s.Search, "exact") }

// searchesOf lists the evaluations of a run by search and effort, the exact one
// first: that which was timed with the others, on their machine, if there is one.
func searchesOf(r recommendationRun) []rankScores {
	list := slices.Clone(r.Searches)
	if !slices.ContainsFunc(list, func(s rankScores) bool { return searchName(s) == "exact" }) {
		list = append(list, r.Scores)
	}
	slices.SortStableFunc(list, func(a, b rankScores) int {
		return cmp.Or(-compareBool(searchName(a) == "exact", searchName(b) == "exact"), cmp.Compare(searchName(a), searchName(b)), cmp.Compare(a.Effort, b.Effort))
	})
	return list
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
