package recommendation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/task"
)

const recommendationFixture = "testdata/lines.jsonl"

func recommendationPage(t *testing.T, dir, users string, files ...string) string {
	t.Helper()
	if err := Document(users).Write(files, dir, task.Silent{}); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, Name+".md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// The numbers of the fixture are chosen so that means and deviations are round:
// R@10 of GRIT 0.0525, 0.0535, 0.0545, of RQ-VAE 0.050, 0.052, 0.054.
func TestRecommendationTablesHoldTheRuns(t *testing.T) {
	dir := t.TempDir()
	page := recommendationPage(t, dir, "", recommendationFixture)
	const (
		beauty   = "## Generative, Beauty"
		dual     = "## Dual encoder, Beauty"
		search   = "## Query to product, made-up queries, Beauty"
		cold     = "### Generative, Beauty: items that occur at most 5 times in training"
		ablation = "## Parts of GRIT-VQ, MovieLens-1M, generative"
		codes    = "## Recall and the number of codes of a level, Beauty, dual"
		times    = "## Recall and time, Beauty, dual"
		ids      = "## IDs, Beauty"
	)
	cell := func(heading, column string, row ...string) string { return rowOf(t, page, heading, row...)[column] }
	for _, check := range []struct{ name, got, want string }{
		{"best", cell(beauty, "R@10", "GRIT-VQ"), "**0.0535 ± 0.0010**"},
		// Differences 0.0025, 0.0015 and 0.0005: the interval of their mean is 0.0015 ± 0.0025.
		{"tied", cell(beauty, "R@10", "RQ-VAE"), "0.0520 ± 0.0020 ="},
		// 0.0025 below on the common seed; the typical deviation is sqrt((0.002² + 0.001²)/2) = 0.0016.
		{"beaten with one seed", cell(beauty, "R@10", "SimVQ"), "0.0500"},
		{"beaten", cell(beauty, "N@10", "RQ-VAE"), "0.0210 ± 0.0010"},
		{"equal", cell(beauty, "R@5", "RQ-VAE"), "**0.0300 ± 0.0000**"},
		{"fewest collisions", cell(beauty, "collisions", "GRIT-VQ"), "**2.00 ± 0.00 %**"},
		{"collisions", cell(beauty, "collisions", "RQ-VAE, as published"), "30.00 %"},
		{"use", cell(beauty, "codes used", "SimVQ"), "75.0 %"},
		{"numbers do not collide", cell(beauty, "collisions", "Dense IDs"), ""},
		{"a success stays", cell(beauty, "R@10", "Dense IDs"), "0.0200"},
		{"steps", cell(beauty, "steps", "GRIT-VQ"), "2000"},
		{"seeds", cell(beauty, "seeds", "GRIT-VQ"), "3 of 3"},
		{"missing seeds", cell(beauty, "seeds", "SimVQ"), "1 of 3"},
		{"a failure", cell(beauty, "seeds", "LSH"), "0 of 1"},
		{"not run", cell(beauty, "R@10", "DiVeQ"), ""},
		{"alone", cell("## Generative, Sports and Outdoors", "R@10", "GRIT-VQ"), "0.0300"},
		{"absent set", cell("## Generative, Toys and Games", "R@10", "GRIT-VQ"), ""},
		{"dual", cell(dual, "R@50", "GRIT-VQ"), "**0.1600**"},
		{"dual, other", cell(dual, "N@100", "RQ-VAE"), "0.1150"},
		{"search", cell(search, "R@50", "RQ-VAE"), "0.4500"},
		{"search, MRR, all equal", cell(search, "MRR@10", "GRIT-VQ"), "0.1500"},
		{"cold", cell(cold, "R@10", "GRIT-VQ"), "**0.0200 ± 0.0000**"},
		{"cold users", cell(cold, "users", "RQ-VAE"), "40"},
		{"a part", cell(ablation, "R@10", "without radius"), "0.2000"},
		{"from another table", cell(ablation, "R@10", "GRIT-VQ"), "**0.2500**"},
		{"STE by its name", cell(ablation, "R@10", "STE"), ""},
		{"few codes", cell(codes, "64", "GRIT-VQ"), "0.1400"},
		{"codes of the dual table", cell(codes, "256", "GRIT-VQ"), "**0.1600**"},
		{"codes that were not planned", cell(codes, "1,024", "GRIT-VQ"), "0.1800"},
		{"codes to come", cell(codes, "512", "GRIT-VQ"), ""},
		{"time", cell(times, "ms an answer", "GRIT-VQ", "ivf", "4"), "0.500"},
		{"part of exact", cell(times, "of exact", "GRIT-VQ", "ivf", "1"), "50.0 %"},
		{"use of a level", cell(ids, "used, level 4", "RQ-VAE"), "90.0 %"},
		{"collisions after", cell(ids, "after", "RQ-VAE"), "0.00 %"},
	} {
		if check.got != check.want {
			t.Errorf("%s: %q, want %q", check.name, check.got, check.want)
		}
	}
	for _, want := range []string{"200 users, 1,000 items. Items of the user's history stay in the lists (`--seen keep`)",
		"50 queries for testing, 1,000 items.", "* g-lsh-1 after 12s: out of memory",
		"* `gritvq recommend train IDS LOG -o DIR --model dual --steps 20000` (all methods)",
		"![Codes in use](recommendation-use-beauty-ids.svg)"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	// A trial is in no table.
	for _, no := range []string{"the machine went away", "0.9999", "model.width"} {
		if strings.Contains(page, no) {
			t.Errorf("the page has %q", no)
		}
	}
	store, err := os.ReadFile(filepath.Join(dir, Name+".jsonl"))
	if err != nil || bytes.Contains(store, []byte("/somewhere")) || bytes.Count(store, []byte("\n")) != 22 {
		t.Errorf("the store has %d lines, or paths of the machine: %v", bytes.Count(store, []byte("\n")), err)
	}
}

func TestMoreRecommendationRunsFillTheTables(t *testing.T) {
	dir := t.TempDir()
	first := recommendationPage(t, dir, "", recommendationFixture)
	if again := recommendationPage(t, dir, ""); again != first {
		t.Error("the store alone gives other tables")
	}
	content, err := os.ReadFile(recommendationFixture)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(content), "\n")
	line = strings.NewReplacer("g-grit-1", "g-diveq-1", `"ids": "grit"`, `"ids": "diveq"`).Replace(line)
	more := filepath.Join(t.TempDir(), "more.jsonl")
	if err := os.WriteFile(more, []byte(line), 0o644); err != nil {
		t.Fatal(err)
	}
	second := recommendationPage(t, dir, "", more)
	// As good as GRIT on the common seed.
	if got := rowOf(t, second, "## Generative, Beauty", "DiVeQ")["R@10"]; got != "0.0525 =" {
		t.Errorf("the new run is %q", got)
	}
}

func TestRecommendationTablesRefuseWhatTheyCannotShow(t *testing.T) {
	const run = `{"id":"g-grit-1","data":"beauty","ids":"grit","kind":"generative","seed":1,"flags":"--steps 9","seconds":1}`
	for name, lines := range map[string]string{
		"different settings": run + "\n" + strings.NewReplacer("g-grit-1", "g-grit-x", "--steps 9", "--steps 8").Replace(run),
		"line 2":             run + "\n{",
		"needs an":           `{"id":"g-grit-1","kind":"dual","ids":"@64","data":"beauty","seconds":1}`,
		"use generative":     strings.Replace(run, `"generative"`, `"oracle"`, 1),
		"needs a step":       strings.Replace(run, `"seconds":1`, `"seconds":1,"course":[[1,2]]`, 1),
	} {
		file := filepath.Join(t.TempDir(), "lines.jsonl")
		if err := os.WriteFile(file, []byte(lines), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := Document("").Write([]string{file}, t.TempDir(), task.Silent{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error with %q", err, name)
		}
	}
}

// ranked makes a run and the file of its users' ranks.
func ranked(t *testing.T, users, id, method string, seed uint64, ranks ...int) Run {
	t.Helper()
	ranking := eval.NewRanking()
	for i, rank := range ranks {
		if err := ranking.Add(string(rune('a'+i)), rank); err != nil {
			t.Fatal(err)
		}
	}
	if err := eval.WriteRanking(filepath.Join(users, id+".parquet"), ranking); err != nil {
		t.Fatal(err)
	}
	return Run{ID: id, Data: "beauty", IDs: method, Kind: GenerativeKind, Seed: seed,
		Scores: RankScores{Users: len(ranks), Items: 9, Scores: ranking.Means()}}
}

// Recall@10 of users a to d over two seeds: 1, 1/2, 0, 1 of GRIT and 0, 1/2, 0,
// 1/2 of RQ-VAE. The differences 1, 0, 0, 1/2 have mean 3/8 and t² = 27/11; with
// three degrees of freedom p = 1 - 2/π (x/(1+x²) + atan x), x² = t²/3 = 9/11.
func TestSignificanceOverSeeds(t *testing.T) {
	users, dir := t.TempDir(), t.TempDir()
	runs := []Run{
		ranked(t, users, "g-grit-1", "grit", 1, 1, 2, 0, 3), ranked(t, users, "g-grit-2", "grit", 2, 1, 0, 0, 1),
		ranked(t, users, "g-ste-1", "ste", 1, 0, 1, 0, 0), ranked(t, users, "g-ste-2", "ste", 2, 0, 0, 0, 1),
		ranked(t, users, "g-lsh-1", "lsh", 1, 1, 0, 0, 0),
	}
	x := math.Sqrt(9.0 / 11)
	want := 1 - 2/math.Pi*(x/(1+x*x)+math.Atan(x))
	store := filepath.Join(dir, "tests.jsonl")
	tests, err := significance(store, table.NewRuns(runs), users)
	if err != nil || len(tests) != 4 {
		t.Fatalf("%d tests, %v", len(tests), err)
	}
	overSeeds := tests[slices.IndexFunc(tests, func(u Test) bool { return u.Other == "ste" && u.Metric == eval.Recall })]
	if overSeeds.Users != 4 || overSeeds.Ours != 0.625 || overSeeds.Theirs != 0.25 || math.Abs(overSeeds.Paired-want) > 1e-9 ||
		!slices.Equal(overSeeds.Seeds, []uint64{1, 2}) ||
		!(overSeeds.Low < 0.375 && overSeeds.High > 0.375) {
		t.Errorf("over seeds %+v, want p %g", overSeeds, want)
	}
	// A single seed gives the figures of gritvq recommend significance.
	a, err := eval.ReadRanking(filepath.Join(users, "g-grit-1.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := eval.ReadRanking(filepath.Join(users, "g-lsh-1.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := eval.CompareRankings(a, b, eval.NDCG, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	single := tests[slices.IndexFunc(tests, func(u Test) bool { return u.Other == "lsh" && u.Metric == eval.NDCG })]
	if single.Paired != c.Paired.P || single.Wilcoxon != c.Wilcoxon.P || single.Low != c.Low || single.High != c.High || single.Ours != c.A {
		t.Errorf("one seed %+v, want %+v", single, c)
	}

	// Without the files the tests stay, unless they are of other runs.
	if err := atomicfile.WriteJSON(store, "", tests...); err != nil {
		t.Fatal(err)
	}
	if kept, err := significance(store, table.NewRuns(runs), ""); err != nil || len(kept) != 4 {
		t.Errorf("%d tests stayed, %v", len(kept), err)
	}
	runs[4].Scores.Scores = []eval.RankingScores{{K: 10, Recall: 0.5, NDCG: 0.5}}
	if kept, err := significance(store, table.NewRuns(runs), ""); err != nil || len(kept) != 2 {
		t.Errorf("%d tests of other runs stayed, %v", len(kept), err)
	}
	if _, err := significance(store, table.NewRuns(runs), users); err == nil || !strings.Contains(err.Error(), "not of the same run") {
		t.Errorf("ranks of another run: %v", err)
	}
}

func TestSignificanceTable(t *testing.T) {
	users, dir := t.TempDir(), t.TempDir()
	var lines bytes.Buffer
	for _, r := range []Run{ranked(t, users, "g-grit-1", "grit", 1, 1, 2, 1, 3, 1), ranked(t, users, "g-ste-1", "ste", 1, 0, 20, 0, 0, 11)} {
		if err := json.NewEncoder(&lines).Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "lines.jsonl")
	if err := os.WriteFile(file, lines.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	row := rowOf(t, recommendationPage(t, dir, users, file), "## Is the difference to GRIT-VQ more than chance?", "Beauty", "generative",
		"R@10", "RQ-VAE")
	// Every user gained: no doubt is left, and the t test has no variance.
	if row["difference"] != "**+1.0000**" || row["interval"] != "+1.0000 to +1.0000" || row["t test p"] != "0" || row["users"] != "5" ||
		row["seeds"] != "1" {
		t.Errorf("row %v", row)
	}
}

// The parts of GRIT-VQ are tested in a table of their own, with runs of other
// tables as in the scores, and stay when the ranks are gone.
func TestPartsAreTested(t *testing.T) {
	users, store := t.TempDir(), filepath.Join(t.TempDir(), "tests.jsonl")
	runs := []Run{ranked(t, users, "g-grit-1", "grit", 1, 1, 2, 0, 3), ranked(t, users, "g-lsh-1", "lsh", 1, 1, 0, 0, 0),
		ranked(t, users, "a-no-radius-1", "no-radius", 1, 0, 0, 0, 1)}
	tests, err := significance(store, table.NewRuns(runs), users)
	if err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.WriteJSON(store, "", tests...); err != nil {
		t.Fatal(err)
	}
	kept, err := significance(store, table.NewRuns(runs), "")
	if err != nil || !slices.EqualFunc(kept, tests, func(a, b Test) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
		t.Errorf("kept %v, %v, want %v", kept, err, tests)
	}
	of := func(table, other string) (found []Test) {
		for _, test := range tests {
			if test.Table == table && test.Other == other {
				found = append(found, test)
			}
		}
		return found
	}
	part := of(partLetter, "no-radius")
	if len(tests) != 4 || len(part) != 2 || len(of("g", "lsh")) != 2 || part[0].Ours != 0.75 || part[0].Theirs != 0.25 {
		t.Fatalf("tests %+v", tests)
	}
	page := &table.Page{}
	addPartTests(page, tests, place{data: "beauty", kind: GenerativeKind})
	addPartTests(page, tests, place{data: "toys", kind: GenerativeKind})
	if text := page.String(); strings.Count(text, "without radius") != 2 || strings.Contains(text, "LSH") {
		t.Errorf("the table of parts:\n%s", text)
	}
}

// The exact search is compared with others by its time on their machine.
func TestExactSearchIsTimedWithTheOthers(t *testing.T) {
	run := Run{Scores: RankScores{Alone: 9}, Searches: []RankScores{{Search: "ivf", Effort: 4, Alone: 1}}}
	if got := searches(run); len(got) != 2 || got[0].Alone != 9 {
		t.Errorf("searches %+v", got)
	}
	run.Searches = append(run.Searches, RankScores{Search: "exact", Alone: 2})
	if got := searches(run); len(got) != 2 || got[0].Alone != 2 || got[1].Search != "ivf" {
		t.Errorf("searches %+v", got)
	}
	run.Searches[0].Lookup = 0.5
	if chart := timeChart([]Run{run}, place{data: "beauty", kind: DualKind}); chart.XLabel != "ms an answer" || chart.Series[1].X[0] != 1 {
		t.Errorf("the chart of answers: %+v", chart)
	}
	run.Searches[1].Lookup = 0.75
	chart := timeChart([]Run{run}, place{data: "beauty", kind: DualKind})
	if chart.XLabel != "ms in the index" || chart.Series[1].X[0] != 0.5 {
		t.Errorf("the chart of searches: %+v", chart)
	}
}

func TestRecommendationFiguresDrawTheRuns(t *testing.T) {
	lines, err := table.ReadLines[Run](recommendationFixture)
	if err != nil {
		t.Fatal(err)
	}
	page := &table.Page{}
	fill(page, table.NewRuns(lines), nil)
	charts := page.Charts
	use := charts["recommendation-use-beauty-ids.svg"].Series
	if len(use) != 2 || use[0].Name != "RQ-VAE" || !slices.Equal(use[0].X, []float64{100, 200}) || !slices.Equal(use[0].Y, []float64{50, 75}) {
		t.Errorf("codes in use: %+v", use)
	}
	codes := charts["recommendation-codes-beauty-dual.svg"].Series
	if last := codes[len(codes)-1]; last.Name != "GRIT-VQ" || !slices.Equal(last.X, []float64{64, 256, 1024}) ||
		!slices.Equal(last.Y, []float64{0.14, 0.16, 0.18}) {
		t.Errorf("recall against codes: %+v", codes)
	}
	times := charts["recommendation-time-beauty-dual.svg"].Series
	if len(times) != 3 || times[2].Name != "GRIT-VQ, ivf" || !slices.Equal(times[2].X, []float64{0.25, 0.5}) ||
		!slices.Equal(times[2].Y, []float64{0.08, 0.12}) {
		t.Errorf("recall against time: %+v", times)
	}
}

func FuzzReadRecommendationRuns(f *testing.F) {
	content, err := os.ReadFile(recommendationFixture)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Add([]byte(`{"id":"u-x","data":"beauty","ids":"m@","kind":"ids","course":[[null,1,1,1]],"ids_scores":{"items":1,"vocab":[-1]}}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		lines, err := table.DecodeLines[Run]("lines", bytes.NewReader(content))
		if err != nil {
			return
		}
		fill(&table.Page{}, table.NewRuns(lines), nil)
	})
}

func rowOf(t *testing.T, page, heading string, begins ...string) map[string]string {
	t.Helper()
	row, err := table.FindRow(page, heading, begins...)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// Runs of different rules for seen items never share a table.
func TestProtocolsStayApart(t *testing.T) {
	file, dir := filepath.Join(t.TempDir(), "runs.jsonl"), t.TempDir()
	line := `{"id":"g-%s-1","data":"beauty","ids":"%s","kind":"generative","seed":1,"seconds":1,"scores":{"users":9,"items":5,` +
		`"protocol":{"seen_items":"%s"},"scores":[{"k":10,"recall":%s}]}}` + "\n"
	lines := fmt.Sprintf(line, "grit", "grit", "keep", "0.25") + fmt.Sprintf(line, "lsh", "lsh", "drop", "0.5")
	if err := os.WriteFile(file, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Document("").Write([]string{file}, dir, task.Silent{}); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, Name+".md"))
	if err != nil {
		t.Fatal(err)
	}
	kept, dropped := "## Generative, Beauty", "## Generative, Beauty, seen items dropped"
	if got := rowOf(t, string(page), kept, "LSH")["R@10"]; got != "" {
		t.Errorf("a run without seen items is among those with them: %s", got)
	}
	if got := rowOf(t, string(page), dropped, "LSH")["R@10"]; got != "0.5000" {
		t.Errorf("recall %q", got)
	}
	for _, want := range []string{
		"Items of the user's history stay in the lists (`--seen keep`)", "are left out of the lists (`--seen drop`)",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not say: %s", want)
		}
	}
}

// Models that start from a classical score, those that start from nothing and those of before never share a table, and
// references stand below the tables of runs that have them.
func TestPriorsStayApart(t *testing.T) {
	file, dir := filepath.Join(t.TempDir(), "runs.jsonl"), t.TempDir()
	line := `{"id":"%s-grit-1","data":"beauty","ids":"grit","kind":"dual","seed":1,"seconds":1,"prior":"%s","scores":{"users":9,"items":5,` +
		`"protocol":{"seen_items":"%s"},"scores":[{"k":10,"recall":%s}]%s}}` + "\n"
	references := `,"references":[{"name":"transitions","settings":"transitions (window 5)","scores":[{"k":10,"recall":0.0788,"ndcg":0.04}],` +
		`"differences":[{"metric":"recall","k":10,"model":0.08,"reference":0.0788,"low":-0.001,"high":0.0034,"p":0.3}]}]`
	lines := fmt.Sprintf(line, "p", "auto", "drop", "0.08", references) + fmt.Sprintf(line, "n", "none", "keep", "0.07", "") +
		fmt.Sprintf(line, "d", "", "", "0.05", "")
	if err := os.WriteFile(file, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	page := recommendationPage(t, dir, "", file)
	for _, check := range []struct{ heading, row, want string }{
		{"## Dual encoder, Beauty, from the best classical score, seen items dropped\n", "GRIT-VQ", "0.0800"},
		{"## Dual encoder, Beauty, from the best classical score, seen items dropped\n", "GRIT-VQ", "1 of 3"},
		{"References on the same split", "transitions (window 5)", "0.0788"},
		{"References on the same split", "transitions (window 5)", "+0.0012"},
		{"References on the same split", "transitions (window 5)", "-0.0010 to +0.0034"},
		{"## Dual encoder, Beauty, IDs alone\n", "GRIT-VQ", "0.0700"},
		{"## Dual encoder, Beauty\n", "GRIT-VQ", "0.0500"},
	} {
		_, below, found := strings.Cut(page, check.heading)
		_, line, inTable := strings.Cut(below, "\n| "+check.row+" |")
		line, _, _ = strings.Cut(line, "\n")
		if !found || !inTable || !strings.Contains(line, " "+check.want+" ") {
			t.Errorf("%s, %s: %s is not in %q", check.heading, check.row, check.want, line)
		}
	}
	missing, _, _ := strings.Cut(page, "## Before classical scores")
	planned := func(name string) bool { return strings.Contains(missing, "\n* "+name+", Beauty, IDs alone\n") }
	if !planned("Generative") || planned("Dual encoder") {
		t.Error("the list of planned tables is wrong")
	}
}
