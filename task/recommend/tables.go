package recommend

import (
	"fmt"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/report"
)

// ScoreTable shows scores at several depths.
func ScoreTable(name string, scores []eval.RankingScores) report.Table {
	t := report.Table{Columns: []report.Column{{Name: name}, {Name: "recall"}, {Name: "NDCG"}, {Name: "MRR"}}}
	for _, r := range scores {
		t.Rows = append(t.Rows, report.Cells(
			fmt.Sprintf("@%d", r.K), report.Number(r.Recall, 4), report.Number(r.NDCG, 4), report.Number(r.MRR, 4)))
	}
	return t
}

// ReferenceTable shows the model beside its references.
func (e *Evaluation) ReferenceTable() report.Table {
	at := len(e.Scores) - 1
	for at > 0 && e.Scores[at].K > 10 {
		at--
	}
	t := report.Table{Columns: []report.Column{{Name: "references"}}}
	k := e.Scores[at].K
	for _, name := range []string{fmt.Sprintf("recall@%d", k), fmt.Sprintf("NDCG@%d", k), "model's recall - this", "95 % interval"} {
		t.Columns = append(t.Columns, report.Column{Name: name, Align: report.Right})
	}
	for _, r := range e.References {
		difference, interval := "", ""
		if len(r.Against) > 0 {
			d := r.Against[0]
			difference, interval = report.Number(d.Model-d.Reference, 3), fmt.Sprintf("%s to %s", report.Number(d.Low, 3), report.Number(d.High, 3))
		}
		t.Rows = append(t.Rows, report.Cells(r.Settings, report.Number(r.Scores[at].Recall, 4), report.Number(r.Scores[at].NDCG, 4),
			difference, interval))
	}
	return t
}
