package recommendation

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
)

// Test compares GRIT-VQ with another method user by user. If both have several
// seeds, a user's score is the mean over the common ones.
type Test struct {
	Table  string          `json:"table"` // its letter
	Data   string          `json:"data"`
	Seen   string          `json:"seen_items,omitempty"`
	Kind   string          `json:"kind"`
	Prior  string          `json:"prior,omitempty"`
	Other  string          `json:"other"`
	Metric eval.RankMetric `json:"metric"`
	K      int             `json:"k"`
	Seeds  []uint64        `json:"seeds"`
	Users  int             `json:"users"`
	Ours   float64         `json:"ours"` // means over users
	Theirs float64         `json:"theirs"`
	// Paired and Wilcoxon are p values; Low and High bound the mean difference by the bootstrap.
	Paired   float64 `json:"paired_p"`
	Wilcoxon float64 `json:"wilcoxon_p"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// Check reports a damaged line.
func (t Test) Check() error {
	if t.Table == "" || t.Other == "" {
		return errors.New("a test needs a table and another method; remove the file and give -users again")
	}
	return nil
}

// bootstrapSeed is that of gritvq recommend significance.
const bootstrapSeed = 1

const sameScore = 1e-9

// significance makes the tests that the ranks in users allow, and keeps stored ones that agree with the runs.
func significance(store string, runs *table.Runs[Run], users string) ([]Test, error) {
	before, err := table.ReadLines[Test](store)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var tests []Test
	for _, c := range append(contests(runs), partContests(runs)...) {
		for _, row := range layout(c.planned, table.Groups(c.runs, nil), title).Rows {
			if row.Method == ourMethod {
				continue
			}
			pairs := seedPairs(c.runs, row.Method)
			made, err := testUsers(users, c, row.Method, pairs)
			if err != nil {
				return nil, err
			}
			for _, t := range before {
				if len(made) == 0 && t.Table == c.letter && t.place() == c.place && t.Other == row.Method && t.holds(pairs) {
					tests = append(tests, t)
				}
			}
			tests = append(tests, made...)
		}
	}
	return tests, nil
}

func (t Test) place() place { return place{t.Data, t.Kind, t.Seen == dropSeen, t.Prior} }

func (t Test) metric() string {
	return fmt.Sprintf("%s@%d", map[eval.RankMetric]string{eval.Recall: "R", eval.NDCG: "N"}[t.Metric], t.K)
}

type seedPair struct{ ours, theirs Run }

func seedPairs(runs []Run, other string) []seedPair {
	var pairs []seedPair
	for _, a := range runs {
		for _, b := range runs {
			if a.method() == ourMethod && b.method() == other && a.Seed == b.Seed &&
				!slices.ContainsFunc(pairs, func(p seedPair) bool { return p.ours.Seed == a.Seed }) {
				pairs = append(pairs, seedPair{a, b})
			}
		}
	}
	slices.SortFunc(pairs, func(a, b seedPair) int { return cmp.Compare(a.ours.Seed, b.ours.Seed) })
	return pairs
}

func (t Test) holds(pairs []seedPair) bool {
	ours, theirs, n := 0.0, 0.0, 0
	for _, p := range pairs {
		if slices.Contains(t.Seeds, p.ours.Seed) {
			ours, theirs, n = ours+p.ours.Record().Scores[t.metric()], theirs+p.theirs.Record().Scores[t.metric()], n+1
		}
	}
	return n > 0 && n == len(t.Seeds) && math.Abs(ours/float64(n)-t.Ours) <= sameScore && math.Abs(theirs/float64(n)-t.Theirs) <= sameScore
}

func testUsers(dir string, c contest, other string, pairs []seedPair) ([]Test, error) {
	var ours, theirs []*eval.Ranking
	var seeds []uint64
	for _, p := range pairs {
		a, err := readRanks(dir, p.ours)
		if err != nil {
			return nil, err
		}
		b, err := readRanks(dir, p.theirs)
		if err != nil {
			return nil, err
		}
		if a != nil && b != nil {
			ours, theirs, seeds = append(ours, a), append(theirs, b), append(seeds, p.ours.Seed)
		}
	}
	if len(seeds) == 0 {
		return nil, nil
	}
	var tests []Test
	for _, metric := range []eval.RankMetric{eval.Recall, eval.NDCG} {
		r, err := eval.CompareSeeds(ours, theirs, metric, kinds[c.kind].cutoff, bootstrapSeed)
		if err != nil {
			return nil, fmt.Errorf("%s and GRIT-VQ on %s: %w", other, c.data, err)
		}
		tests = append(tests, Test{c.letter, c.data, c.rule(), c.kind, c.prior, other,
			r.Metric, r.K, seeds, r.Paired.N, r.A, r.B, r.Paired.P, r.Wilcoxon.P,
			r.Low, r.High})
	}
	return tests, nil
}

func readRanks(dir string, r Run) (*eval.Ranking, error) {
	path := filepath.Join(dir, r.ID+".parquet")
	if dir == "" {
		return nil, nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	ranking, err := eval.ReadRanking(path)
	if err != nil {
		return nil, err
	}
	k := kinds[r.Kind].cutoff
	if got, want := ranking.Mean(k).Recall, at(r.Scores.Scores, k).Recall; !(math.Abs(got-want) <= sameScore) {
		return nil, fmt.Errorf("%s has recall@%d %.6f, the line of %s has %.6f: they are not of the same run", path, k, got, r.ID, want)
	}
	return ranking, nil
}

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
	t := report.Table{Columns: append(report.Columns(report.Left, "data", "model", "metric", "other"),
		report.Columns(report.Right, "seeds", "users", "GRIT-VQ", "the other", "difference", "interval", "t test p", "Wilcoxon p")...)}
	for _, test := range tests {
		seeds := strings.Trim(strings.ReplaceAll(fmt.Sprint(test.Seeds), " ", ", "), "[]")
		row := report.Cells(test.place().title(), test.Kind, test.metric(), name(test.Other), seeds, report.Count(test.Users),
			fmt.Sprintf("%.4f", test.Ours), fmt.Sprintf("%.4f", test.Theirs), fmt.Sprintf("%+.4f", test.Ours-test.Theirs),
			fmt.Sprintf("%+.4f to %+.4f", test.Low, test.High), report.Number(test.Paired, 2), report.Number(test.Wilcoxon, 2))
		row[8].Strong = test.Low > 0 || test.High < 0
		t.Rows = append(t.Rows, row)
	}
	return t
}

const testsLegend = `User by user (query by query), each with the mean of the seeds that both have: two-sided paired t test, Wilcoxon's
signed-rank test, 95 % bootstrap interval of the difference; **bold** if the interval excludes 0. ` +
	`The tests speak of other users, not of other seeds
(their deviations are in the tables above), and are not corrected for their number.
Raw figures: [` + Name + "-significance.jsonl](" + Name + "-significance.jsonl).\n"
