package recommendation

import (
	"fmt"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/lab/table"
)

const coldPrefix = "cold "

// Record implements table.Run.
func (r Run) Record() table.Record {
	scores := table.Scores{}
	addRanking := func(prefix string, list []eval.RankingScores) {
		for _, s := range list {
			scores[fmt.Sprintf("%sR@%d", prefix, s.K)] = s.Recall
			scores[fmt.Sprintf("%sN@%d", prefix, s.K)] = s.NDCG
			scores[fmt.Sprintf("%sMRR@%d", prefix, s.K)] = s.MRR
			if s.Users > 0 {
				scores[fmt.Sprintf("%susers@%d", prefix, s.K)] = float64(s.Users)
			}
		}
	}
	addRanking("", r.Scores.Scores)
	addRanking(coldPrefix, r.Scores.Cold)
	if s := r.IDsScores; s.Items > 0 && r.method() != denseMethod { // dense IDs are numbers without codes
		scores["collisions"], scores["after"], scores["largest"] = s.Before.Rate, s.After.Rate, float64(s.Before.Largest)
		if s.Utilization != nil {
			scores["used"] = *s.Utilization
		}
		for level, p := range s.Positions {
			scores[fmt.Sprintf("level%d", level+1)] = p.Utilization
		}
	}
	if r.Scores.Alone > 0 {
		scores["alone"] = r.Scores.Alone
	}
	if r.Scores.PerSecond > 0 {
		scores["rate"] = r.Scores.PerSecond
	}
	if len(r.Course) > 0 {
		scores["steps"] = *r.Course[len(r.Course)-1][courseStep]
	}
	return table.Record{Method: r.method(), Seed: r.Seed, Scores: scores}
}

func ranking(name string) table.Measure {
	return table.Measure{Name: name, Title: name, Goal: table.Higher, Text: table.Decimals(4)}
}

var (
	collisions = table.Measure{Name: "collisions", Title: "collisions", Goal: table.Lower, Text: table.PercentDecimals(2)}
	used       = table.Measure{Name: "used", Title: "codes used", Goal: table.Higher, Text: table.PercentDecimals(1)}
	alone      = table.Measure{Name: "alone", Title: "ms an answer", Text: table.Decimals(2)} // of one question, on the machine of the run
	rate       = table.Measure{Name: "rate", Title: "answers/s", Text: table.Decimals(0)}
	steps      = table.Measure{Name: "steps", Title: "steps", Text: table.Decimals(0)} // where training ended, early or not
)

var kindMeasures = map[string][]table.Measure{
	generativeKind: append(rankings("R@5", "N@5", "R@10", "N@10", "R@20"), collisions, used, rate, steps),
	dualKind:       append(rankings("R@10", "N@10", "R@50", "N@50", "R@100", "N@100"), collisions, used, alone, steps),
	searchKind:     append(rankings("R@10", "N@10", "MRR@10", "R@50", "R@100"), collisions, used, alone, steps),
}

func rankings(names ...string) []table.Measure {
	var list []table.Measure
	for _, name := range names {
		list = append(list, ranking(name))
	}
	return list
}

func coldMeasures(kind string) []table.Measure {
	k, asked := mainCutoff(kind), "users"
	if kind == searchKind {
		asked = "queries"
	}
	list := rankings(fmt.Sprintf("R@%d", k), fmt.Sprintf("N@%d", k))
	list = append(list, table.Measure{Name: fmt.Sprintf("users@%d", k), Title: asked, Text: table.Decimals(0)})
	for i := range list {
		list[i].Name = coldPrefix + list[i].Name
	}
	return list
}

// mainCutoff is that of the paper's tables; figures and tests use it.
func mainCutoff(kind string) int {
	if kind == generativeKind {
		return 10
	}
	return 50
}

func mainRecall(kind string) table.Measure { return ranking(fmt.Sprintf("R@%d", mainCutoff(kind))) }

// idLevels is the length of the compared IDs, without a token that resolves collisions.
const idLevels = 4

func idMeasures() []table.Measure {
	list := []table.Measure{collisions,
		{Name: "after", Title: "after", Text: table.PercentDecimals(2)},
		{Name: "largest", Title: "largest group", Text: table.Decimals(0)}}
	for level := 1; level <= idLevels; level++ {
		list = append(list, table.Measure{Name: fmt.Sprintf("level%d", level), Title: fmt.Sprintf("used, level %d", level),
			Goal: table.Higher, Text: table.PercentDecimals(1)})
	}
	return list
}
