package recommend

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/report"
)

func newSignificance(s *cli.Streams) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "significance A B",
		Short: "Test whether two recommenders differ",
		Long: `Compares two evaluations user by user, or search by search, from the files that
eval --per-user or --per-query wrote: paired t test, Wilcoxon's signed-rank test and
bootstrap interval of the difference.`,
		Example: `  gritvq recommend significance a/users.parquet b/users.parquet`,
		Args:    cli.Arguments("A", "B"),
		RunE:    func(_ *cobra.Command, args []string) error { return significance(s, args[0], args[1], json) },
	}
	cli.JSONFlag(cmd, &json, "")
	return cmd
}

func significance(s *cli.Streams, pathA, pathB string, json bool) error {
	a, err := eval.ReadRanking(pathA)
	if err != nil {
		return err
	}
	b, err := eval.ReadRanking(pathB)
	if err != nil {
		return err
	}
	shorter := a // the lists of both reach its cutoffs
	if b.Depth > 0 && (a.Depth == 0 || b.Depth < a.Depth) {
		shorter = b
	}
	var all []eval.RankingComparison
	for _, metric := range []eval.RankMetric{eval.Recall, eval.NDCG} {
		for _, k := range shorter.Cutoffs() {
			c, err := eval.CompareRankings(a, b, metric, k, 1)
			if err != nil {
				return err
			}
			all = append(all, c)
		}
	}
	if json {
		return s.WriteJSON(map[string]any{"a": pathA, "b": pathB, "users": a.Len(), "comparisons": all})
	}
	t := report.Table{
		Caption: fmt.Sprintf("A is %s, B is %s, of the same %s users or searches; the interval is the bootstrap's, 95 %%",
			pathA, pathB, report.Count(a.Len())),
		Columns: []report.Column{{Name: "metric"}},
	}
	for _, name := range []string{"A", "B", "A - B", "interval", "t test p", "Wilcoxon p"} {
		t.Columns = append(t.Columns, report.Column{Name: name, Align: report.Right})
	}
	for _, c := range all {
		t.Rows = append(t.Rows, report.Cells(fmt.Sprintf("%s@%d", c.Metric, c.K),
			report.Number(c.A, 4), report.Number(c.B, 4), report.Number(c.A-c.B, 3),
			fmt.Sprintf("%s to %s", report.Number(c.Low, 3), report.Number(c.High, 3)),
			report.Number(c.Paired.P, 3), report.Number(c.Wilcoxon.P, 3)))
	}
	return t.Text(s.Out)
}
