package main

import (
	"fmt"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/report"
)

// comparedCutoffs are the usual ones that the lists of both files reach; where
// one has shorter lists still, their length.
func comparedCutoffs(a, b *eval.Ranking) []int {
	shorter := a
	if b.Depth > 0 && (a.Depth == 0 || b.Depth < a.Depth) {
		shorter = b
	}
	return shorter.Cutoffs()
}

func runSignificance(s *cli.Streams, o significanceOptions) error {
	a, err := eval.ReadRanking(o.a)
	if err != nil {
		return err
	}
	b, err := eval.ReadRanking(o.b)
	if err != nil {
		return err
	}
	var all []eval.RankingComparison
	for _, metric := range []eval.RankMetric{eval.Recall, eval.NDCG} {
		for _, k := range comparedCutoffs(a, b) {
			c, err := eval.CompareRankings(a, b, metric, k, 1)
			if err != nil {
				return err
			}
			all = append(all, c)
		}
	}
	if o.json {
		return s.WriteJSON(map[string]any{"a": o.a, "b": o.b, "users": a.Len(), "comparisons": all})
	}
	t := report.Table{Caption: fmt.Sprintf("A is %s, B is %s, of the same %s users or searches; the interval is the bootstrap's, 95 %%", o.a, o.b, report.Count(a.Len())),
		Columns: []report.Column{{Name: "metric"}, {Name: "A", Align: report.Right}, {Name: "B", Align: report.Right}, {Name: "A - B", Align: report.Right}, {Name: "interval", Align: report.Right}, {Name: "t test p", Align: report.Right}, {Name: "Wilcoxon p", Align: report.Right}}}
	for _, c := range all {
		t.Rows = append(t.Rows, report.Cells(fmt.Sprintf("%s@%d", c.Metric, c.K), report.Number(c.A, 4), report.Number(c.B, 4), report.Number(c.A-c.B, 3),
			fmt.Sprintf("%s to %s", report.Number(c.Low, 3), report.Number(c.High, 3)), report.Number(c.Paired.P, 3), report.Number(c.Wilcoxon.P, 3)))
	}
	return t.Text(s.Out)
}
