package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/report"
)

// userTest is a test of GRIT-VQ against another method, user by user. Where both
// have several seeds, a user's score is the mean over those both have.
type userTest struct {
	Table  string          `json:"table"` // its letter
	Data   string          `json:"data"`
	Kind   string          `json:"kind"`
	Other  string          `json:"other"`
	Metric eval.RankMetric `json:"metric"`
	K      int             `json:"k"`
	Seeds  []uint64        `json:"seeds"`
	Users  int             `json:"users"`
	Ours   float64         `json:"ours"` // means over users
	Theirs float64         `json:"theirs"`
	// Paired and Wilcoxon are p values; Low and High bound the mean difference by
	// the bootstrap.
	Paired   float64 `json:"paired_p"`
	Wilcoxon float64 `json:"wilcoxon_p"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// testedMetrics are those of the paper's table.
var testedMetrics = []eval.RankMetric{eval.Recall, eval.NDCG}

// significance makes the tests that the ranks in users allow, and keeps those of
// the store that are still of the runs there are.
func significance(store string, runs []recommendationRun, users string) ([]userTest, error) {
	before, err := readTests(store)
	if err != nil {
		return nil, err
	}
	var tests []userTest
	for _, c := range contests(runs) {
		for _, row := range c.rows {
			if row.method == ourMethod {
				continue
			}
			pairs := seedPairs(c.runs, row.method)
			made, err := testUsers(users, c.letter, pairs)
			if err != nil {
				return nil, err
			}
			for _, t := range before {
				if len(made) == 0 && t.Table == c.letter && t.Data == c.data && t.Kind == c.kind && t.Other == row.method && t.holds(pairs) {
					tests = append(tests, t)
				}
			}
			tests = append(tests, made...)
		}
	}
	return tests, nil
}

// contest is a table in which GRIT-VQ is tested against the others.
type contest struct {
	letter string
	comparison
	runs []recommendationRun
}

// contests are the tables of methods and that of GRIT-VQ's parts.
func contests(runs []recommendationRun) []contest {
	var list []contest
	for _, s := range sections {
		for _, c := range s.tables(runs) {
			list = append(list, contest{s.letter, c, s.of(runs, c.place)})
		}
	}
	for _, p := range ablationPlaces(runs) {
		chosen := ablationRuns(runs, p)
		list = append(list, contest{ablationLetter, comparison{p, withOthers(ablated, chosen)}, chosen})
	}
	return list
}

// readTests reads the tests that were made before, if there are any.
func readTests(store string) ([]userTest, error) {
	file, err := os.Open(store)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var tests []userTest
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		var t userTest
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w; remove the file and give -users again", store, n, err)
		}
		tests = append(tests, t)
	}
	return tests, lines.Err()
}

// seedPair is a run of ours and one of another method with the same seed.
type seedPair struct{ ours, theirs recommendationRun }

// seedPairs pairs the runs of a place by their seeds, in ascending order.
func seedPairs(runs []recommendationRun, other string) []seedPair {
	var pairs []seedPair
	for _, a := range of(runs, ourMethod, always) {
		for _, b := range of(runs, other, always) {
			if a.Seed == b.Seed && !slices.ContainsFunc(pairs, func(p seedPair) bool { return p.ours.Seed == a.Seed }) {
				pairs = append(pairs, seedPair{a, b})
			}
		}
	}
	slices.SortFunc(pairs, func(a, b seedPair) int { return cmp.Compare(a.ours.Seed, b.ours.Seed) })
	return pairs
}

// scoreOf is a metric of a run.
func scoreOf(r recommendationRun, metric eval.RankMetric, k int) float64 {
	if metric == eval.NDCG {
		return at(r.Scores.Scores, k).NDCG
	}
	return at(r.Scores.Scores, k).Recall
}

// sameScore is how far scores of the same ranks may be apart.
const sameScore = 1e-9

// holds says whether a test is of these runs.
func (t userTest) holds(pairs []seedPair) bool {
	ours, theirs, n := 0.0, 0.0, 0
	for _, p := range pairs {
		if slices.Contains(t.Seeds, p.ours.Seed) {
			ours, theirs, n = ours+scoreOf(p.ours, t.Metric, t.K), theirs+scoreOf(p.theirs, t.Metric, t.K), n+1
		}
	}
	return n > 0 && n == len(t.Seeds) && math.Abs(ours/float64(n)-t.Ours) <= sameScore && math.Abs(theirs/float64(n)-t.Theirs) <= sameScore
}

// testUsers tests the pairs whose ranks are in a directory; none: no tests.
func testUsers(dir, letter string, pairs []seedPair) ([]userTest, error) {
	var ours, theirs []*eval.Ranking
	var seeds []uint64
	for _, p := range pairs {
		a, err := readUsers(dir, p.ours)
		if err != nil {
			return nil, err
		}
		b, err := readUsers(dir, p.theirs)
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
	var tests []userTest
	for _, metric := range testedMetrics {
		first := pairs[0].theirs
		t := userTest{Table: letter, Data: first.Data, Kind: first.Kind, Other: first.method(), Metric: metric, K: mainCutoff(first.Kind), Seeds: seeds}
		if err := t.make(ours, theirs); err != nil {
			return nil, fmt.Errorf("%s and GRIT-VQ on %s: %w", first.method(), first.Data, err)
		}
		tests = append(tests, t)
	}
	return tests, nil
}

// readUsers reads the ranks of a run, nil if there is no file of them.
func readUsers(dir string, r recommendationRun) (*eval.Ranking, error) {
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
	k := mainCutoff(r.Kind)
	if got, want := ranking.Mean(k).Recall, at(r.Scores.Scores, k).Recall; !(math.Abs(got-want) <= sameScore) {
		return nil, fmt.Errorf("%s has recall@%d %.6f, the line of %s has %.6f: they are not of the same run", path, k, got, r.ID, want)
	}
	return ranking, nil
}

// bootstrapResamples and bootstrapSeed are those of gritvq recommend significance.
const (
	bootstrapResamples = 1000
	bootstrapSeed      = 1
)

// make tests the metric between rankings of several seeds, a user a pair.
func (t *userTest) make(ours, theirs []*eval.Ranking) error {
	users := map[string]int{}
	for i := range ours[0].Len() {
		users[ours[0].User(i)] = i
	}
	means := func(rankings []*eval.Ranking) ([]float64, error) {
		sums := make([]float64, len(users))
		for _, r := range rankings {
			if r.Len() != len(users) {
				return nil, fmt.Errorf("rankings of %d and of %d users cannot be paired", len(users), r.Len())
			}
			for i, value := range r.Values(t.Metric, t.K) {
				j, known := users[r.User(i)]
				if !known {
					return nil, fmt.Errorf("user %q is in one ranking only", r.User(i))
				}
				sums[j] += value / float64(len(rankings))
			}
		}
		return sums, nil
	}
	a, err := means(ours)
	if err != nil {
		return err
	}
	b, err := means(theirs)
	if err != nil {
		return err
	}
	paired, err := eval.Paired(a, b)
	if err != nil {
		return err
	}
	wilcoxon, err := eval.Wilcoxon(a, b)
	if err != nil {
		return err
	}
	t.Users, t.Paired, t.Wilcoxon = paired.N, paired.P, wilcoxon.P
	t.Ours, _ = eval.MeanStd(a)
	t.Theirs, _ = eval.MeanStd(b)
	t.Low, t.High, err = eval.Bootstrap(a, b, bootstrapResamples, bootstrapSeed)
	return err
}

// writeSignificance shows the tests of all methods.
func writeSignificance(out *tableWriter, tests []userTest) {
	out.text("## Is the difference to GRIT-VQ more than chance?\n")
	list := slices.DeleteFunc(slices.Clone(tests), func(t userTest) bool { return t.Table == ablationLetter })
	if len(list) == 0 {
		out.text("Not measured yet.\n")
		return
	}
	out.text("User by user (query by query), each with the mean of the seeds that both have: two-sided paired t test, Wilcoxon's signed-rank test, 95 % bootstrap interval of the difference; **strong**\n" +
		"where the interval is to one side of 0. The tests speak of other users, not of other seeds (their deviations are in the tables above), and are not corrected for their number. Raw figures: [" + recommendationResults + "-significance.jsonl](" + recommendationResults + "-significance.jsonl).\n")
	out.table(significanceTable(list, recommendationName))
}

// writePartSignificance shows the tests of GRIT-VQ's parts at a place, if there
// are any.
func writePartSignificance(out *tableWriter, tests []userTest, p place) {
	list := slices.DeleteFunc(slices.Clone(tests), func(t userTest) bool {
		return t.Table != ablationLetter || t.Data != p.data || t.Kind != p.kind
	})
	if len(list) > 0 {
		out.text("GRIT-VQ against each, user by user as above:\n")
		out.table(significanceTable(list, ablationName))
	}
}

// significanceTable has a row a test.
func significanceTable(tests []userTest, names func(string) string) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "data", Align: report.Left}, {Name: "model", Align: report.Left}, {Name: "metric", Align: report.Left}, {Name: "other", Align: report.Left}}}
	for _, name := range []string{"seeds", "users", "GRIT-VQ", "the other", "difference", "interval", "t test p", "Wilcoxon p"} {
		t.Columns = append(t.Columns, report.Column{Name: name, Align: report.Right})
	}
	for _, test := range tests {
		letter := map[eval.RankMetric]string{eval.Recall: "R", eval.NDCG: "N"}[test.Metric]
		row := report.Cells(place{data: test.Data}.title(), test.Kind, fmt.Sprintf("%s@%d", letter, test.K), names(test.Other), joined(test.Seeds), report.Count(test.Users),
			fmt.Sprintf("%.4f", test.Ours), fmt.Sprintf("%.4f", test.Theirs), fmt.Sprintf("%+.4f", test.Ours-test.Theirs),
			fmt.Sprintf("%+.4f to %+.4f", test.Low, test.High), report.Number(test.Paired, 2), report.Number(test.Wilcoxon, 2))
		row[8].Strong = test.Low > 0 || test.High < 0
		t.Rows = append(t.Rows, row)
	}
	return t
}

// joined writes seeds as 1, 2, 3.
func joined(seeds []uint64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(seeds), " ", ", "), "[]")
}
