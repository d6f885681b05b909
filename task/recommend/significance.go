package recommend

import (
	"fmt"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/report"
)

// Significance compares two files of ranks, question by question.
type Significance struct {
	A           string                   `json:"a"`
	B           string                   `json:"b"`
	Users       int                      `json:"users"`
	Comparisons []eval.RankingComparison `json:"comparisons"`
}

// Compare reads files that an evaluation wrote and tests their differences at the cutoffs that the lists of both reach.
func Compare(pathA, pathB string) (*Significance, error) {
	a, err := eval.ReadRanking(pathA)
	if err != nil {
		return nil, err
	}
	b, err := eval.ReadRanking(pathB)
	if err != nil {
		return nil, err
	}
	shorter := a
	if b.Depth > 0 && (a.Depth == 0 || b.Depth < a.Depth) {
		shorter = b
	}
	s := &Significance{A: pathA, B: pathB, Users: a.Len()}
	for _, metric := range []eval.RankMetric{eval.Recall, eval.NDCG} {
		for _, k := range shorter.Cutoffs() {
			c, err := eval.CompareRankings(a, b, metric, k, 1)
			if err != nil {
				return nil, err
			}
			s.Comparisons = append(s.Comparisons, c)
		}
	}
	return s, nil
}

// Table shows the comparisons.
func (s *Significance) Table() report.Table {
	t := report.Table{
		Caption: fmt.Sprintf("A is %s, B is %s, of the same %s users or searches; the interval is the bootstrap's, 95 %%",
			s.A, s.B, report.Count(s.Users)),
		Columns: append([]report.Column{{Name: "metric"}},
			report.Columns(report.Right, "A", "B", "A - B", "interval", "t test p", "Wilcoxon p")...),
	}
	for _, c := range s.Comparisons {
		t.Rows = append(t.Rows, report.Cells(fmt.Sprintf("%s@%d", c.Metric, c.K),
			report.Number(c.A, 4), report.Number(c.B, 4), report.Number(c.A-c.B, 3),
			fmt.Sprintf("%s to %s", report.Number(c.Low, 3), report.Number(c.High, 3)),
			report.Number(c.Paired.P, 3), report.Number(c.Wilcoxon.P, 3)))
	}
	return t
}
