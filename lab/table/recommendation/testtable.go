package recommendation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
)

func addTests(page *table.Page, tests []Test) {
	page.Text("## Is the difference to GRIT-VQ more than chance?\n")
	list := slices.DeleteFunc(slices.Clone(tests), func(t Test) bool { return t.Table == partLetter })
	if len(list) == 0 {
		page.Text("Not measured yet.\n")
		return
	}
	page.Text("%s", testsLegend)
	page.Table(testTable(list, title))
}

func addPartTests(page *table.Page, tests []Test, p place) {
	list := slices.DeleteFunc(slices.Clone(tests), func(t Test) bool { return t.Table != partLetter || t.place() != p })
	if len(list) > 0 {
		page.Text("GRIT-VQ against each, user by user as above:\n")
		page.Table(testTable(list, partTitle))
	}
}

func testTable(tests []Test, name func(string) string) report.Table {
	t := report.Table{Columns: append(table.Columns(report.Left, "data", "model", "metric", "other"),
		table.Columns(report.Right, "seeds", "users", "GRIT-VQ", "the other", "difference", "interval", "t test p", "Wilcoxon p")...)}
	for _, test := range tests {
		metric := fmt.Sprintf("%s@%d", map[eval.RankMetric]string{eval.Recall: "R", eval.NDCG: "N"}[test.Metric], test.K)
		seeds := strings.Trim(strings.ReplaceAll(fmt.Sprint(test.Seeds), " ", ", "), "[]")
		row := report.Cells(test.place().title(), test.Kind, metric, name(test.Other), seeds, report.Count(test.Users),
			fmt.Sprintf("%.4f", test.Ours), fmt.Sprintf("%.4f", test.Theirs), fmt.Sprintf("%+.4f", test.Ours-test.Theirs),
			fmt.Sprintf("%+.4f to %+.4f", test.Low, test.High), report.Number(test.Paired, 2), report.Number(test.Wilcoxon, 2))
		row[8].Strong = test.Low > 0 || test.High < 0
		t.Rows = append(t.Rows, row)
	}
	return t
}

const testsLegend = `User by user (query by query), each with the mean of the seeds that both have: two-sided paired t test, Wilcoxon's
signed-rank test, 95 % bootstrap interval of the difference; **bold** if the interval excludes 0. The tests speak of other users, not of other seeds
(their deviations are in the tables above), and are not corrected for their number.
Raw figures: [` + Name + "-significance.jsonl](" + Name + "-significance.jsonl).\n"
