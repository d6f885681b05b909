package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend"
	"github.com/gritvq/gritvq/task/recommend/modeldir"
	"github.com/gritvq/gritvq/task/recommend/twotower"
)

// searchFlags choose among which items answers are found, and how.
type searchFlags struct {
	ids    string
	index  string
	effort int
}

func (f *searchFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.ids, "ids", "", "directory of IDs to which gritvq ids add gave items since training, to find these too")
	cmd.Flags().StringVar(&f.index, "search", "", "how a dual encoder finds items: exact, ivf or hnsw (default exact)")
	cmd.Flags().IntVar(&f.effort, "effort", 0, "lists that ivf looks into, or length of the list that hnsw keeps (default: its own)")
}

func (f searchFlags) check() error {
	if f.index != "" && !slices.Contains(twotower.Indexes, f.index) {
		return usage.Errorf("--search %s: use %s", f.index, strings.Join(twotower.Indexes, ", "))
	}
	if f.effort < 0 {
		return usage.Errorf("--effort %d must not be negative", f.effort)
	}
	if f.effort > 0 && (f.index == "" || f.index == twotower.Indexes[0]) {
		return usage.Errorf("--effort %d is for --search ivf or hnsw; an exact search looks at everything", f.effort)
	}
	return nil
}

// catalogue returns the table of the items that may be found, trained or a later
// version of it, and the directory that has their titles. Items that the model in
// dir has no number for are left out, with a remark.
func (f searchFlags) catalogue(s *cli.Streams, dir string, trained *catalogue.Table) (*catalogue.Table, string, error) {
	if f.ids == "" {
		return trained, dir, nil
	}
	table, err := catalogue.Load(f.ids)
	if err != nil {
		return nil, "", err
	}
	if err := table.Extends(trained); err != nil {
		return nil, "", fmt.Errorf("%s cannot be used with what %s was trained on: %w; give the directory it was trained with, or train again", f.ids, dir, err)
	}
	fitting, err := table.Fitting(trained)
	if err != nil {
		return nil, "", err
	}
	if left := table.Len() - fitting.Len(); left > 0 {
		s.Remark("note: %s of %s cannot be found: so many have the same codes, and %s has numbers for %d; train again, with IDs that gritvq ids --spare leaves room in",
			report.Counted(left, "item"), f.ids, dir, trained.LastVocab())
	}
	return fitting, f.ids, nil
}

// unreachable says of an error about items without IDs that the items may be
// those which the model in dir has no number for.
func (f searchFlags) unreachable(dir string, err error) error {
	if f.ids == "" {
		return err
	}
	return fmt.Errorf("%w; or train again, if they are in %s and %s has no number for them", err, f.ids, dir)
}

// suit refuses an index for a recommender that has none.
func (f searchFlags) suit(r *recommend.Recommender) error {
	if r.Config.Kind() == "generative" && (f.index != "" || f.effort != 0) {
		return usage.Errorf("--search and --effort are for dual encoders, and this recommender is generative: a larger --beam finds more")
	}
	return nil
}

// rankingResult is what eval --json prints of a recommender or a search engine.
type rankingResult struct {
	Kind   string               `json:"kind"`
	Items  int                  `json:"items"`
	Depth  int                  `json:"depth"` // of the lists
	Search string               `json:"search,omitempty"`
	Effort int                  `json:"effort,omitempty"`
	Scores []eval.RankingScores `json:"scores"`
	Cold   []eval.RankingScores `json:"cold"`
	ColdAt int                  `json:"cold_at_most"`
	// Together is the number of answers a second when many are asked at once,
	// Alone the median time of one answer, and Lookup of the part of it spent in
	// an index, if there is one.
	Together float64 `json:"answers_per_second"`
	Alone    float64 `json:"ms_per_answer"`
	Lookup   float64 `json:"ms_per_lookup,omitempty"`
}

// userScores is what recommend eval --json prints.
type userScores struct {
	Users     int `json:"users"`
	ColdUsers int `json:"cold_users"`
	rankingResult
}

// timedAnswers is the number of answers that are timed one by one.
const timedAnswers = 100

func runRecommendEval(ctx context.Context, s *cli.Streams, o recommendEvalOptions) error {
	if o.beam < 0 || o.cold < 0 {
		return usage.Errorf("--beam and --cold must not be negative")
	}
	if err := o.search.check(); err != nil {
		return err
	}
	if err := checkRanking("--per-user", o.perUser, o.dir, o.log.path); err != nil {
		return err
	}
	if err := o.log.check(); err != nil {
		return err
	}
	if err := engine.UseWorkers(o.workers); err != nil {
		return err
	}
	r, err := recommend.Load(o.dir)
	if err != nil {
		return err
	}
	if err := o.search.suit(r); err != nil {
		return err
	}
	if o.beam == 0 {
		o.beam = r.Model.Depth()
	}
	if r.Table, _, err = o.search.catalogue(s, o.dir, r.Table); err != nil {
		return err
	}
	log, err := o.log.open(ctx, s)
	if err != nil {
		return err
	}
	d, err := recommend.NewDataset(log, r.Table)
	if err != nil {
		return o.search.unreachable(o.dir, err)
	}
	warnOfOtherData(s, o.dir, r.Manifest, d.Fingerprint())
	backend, err := engine.Choose(o.backend)
	if err != nil {
		return err
	}
	searcher, err := r.Model.Searcher(ctx, backend, r.Weights, r.Table, recommend.SearchOptions{Depth: o.beam, Index: o.search.index, Effort: o.search.effort})
	if err != nil {
		return err
	}
	defer searcher.Close()
	queries, _ := d.Queries(recommend.Test, timedAnswers)
	if _, err := searcher.Recommend(ctx, queries, o.beam); err != nil { // the first answers wait for programs to be compiled
		return err
	}
	begun := time.Now()
	ranking, err := rankUsers(ctx, s, searcher, d, recommend.Test, o.beam)
	if err != nil {
		return err
	}
	took := time.Since(begun)
	times, err := timeAnswers(len(queries), searcher, func(i int) error {
		_, err := searcher.Recommend(ctx, queries[i:i+1], o.beam)
		return err
	})
	if err != nil {
		return err
	}
	if o.perUser != "" {
		if err := eval.WriteRanking(o.perUser, ranking); err != nil {
			return err
		}
	}
	cold, err := ranking.Subset(d.Cold(recommend.Test, o.cold))
	if err != nil {
		return err
	}
	out := userScores{Users: ranking.Len(), ColdUsers: cold.Len(), rankingResult: newRankingResult(ranking, cold, o.beam, took, times)}
	out.Kind, out.Items, out.Search, out.Effort, out.ColdAt = r.Config.Kind(), r.Table.Len(), o.search.index, o.search.effort, o.cold
	if o.json {
		return s.WriteJSON(out)
	}
	return out.show(s, fmt.Sprintf("%s whose item occurs at most %d times in training:", report.Counted(cold.Len(), "user"), o.cold))
}

// checkRanking refuses a file of ranks that could not be written in the end, or
// would replace what is read: inputs, and the model in dir.
func checkRanking(flag, path, dir string, inputs ...string) error {
	if path == "" {
		return nil
	}
	if err := eval.CheckRankingName(path); err != nil {
		return usage.Errorf("%s: %w", flag, err)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return usage.Errorf("%s %s: there is no directory %s; make it first", flag, path, filepath.Dir(path))
	}
	model := append(output.Inside(dir, modelFiles...), filepath.Join(dir, modeldir.IDsDir, catalogue.ParquetFile))
	return output.RefuseInput([]string{path}, append(model, inputs...)...)
}

// warnOfOtherData says that a model was trained on other data than it is scored
// with: another file, another --core, other made-up searches.
func warnOfOtherData(s *cli.Streams, dir string, m modeldir.Manifest, fingerprint string) {
	if m.DataHash != "" && m.DataHash != fingerprint {
		s.Remark("note: %s was trained on other data than these (%s, or another part of it): what is asked for may be what it has learned from", dir, m.Data)
	}
}

func newRankingResult(all, cold *eval.Ranking, depth int, took time.Duration, times answerTimes) rankingResult {
	out := rankingResult{Depth: depth, Scores: all.Means(), Together: float64(all.Len()) / took.Seconds(),
		Alone: 1000 * times.answer.Seconds(), Lookup: 1000 * times.lookup.Seconds()}
	if cold.Len() > 0 {
		out.Cold = cold.Means()
	}
	return out
}

func (r rankingResult) show(s *cli.Streams, coldTitle string) error {
	if err := rankingTable("test", r.Scores).Text(s.Out); err != nil {
		return err
	}
	if r.Cold != nil {
		fmt.Fprintf(s.Out, "\n%s\n", coldTitle)
		if err := rankingTable("cold", r.Cold).Text(s.Out); err != nil {
			return err
		}
	}
	inIndex := ""
	if r.Lookup > 0 {
		inIndex = fmt.Sprintf(", %s of them in the index", report.Number(r.Lookup, 3))
	}
	_, err := fmt.Fprintf(s.Out, "\n%s answers a second together, %s ms for one alone%s\n", report.Number(r.Together, 3), report.Number(r.Alone, 3), inIndex)
	return err
}

// answerTimes are the medians of answers that were asked for one by one: of the
// whole, and of the part spent in an index.
type answerTimes struct{ answer, lookup time.Duration }

// timeAnswers times n answers of a searcher, after one that warms up.
func timeAnswers(n int, searcher any, answer func(i int) error) (answerTimes, error) {
	lookups := func() time.Duration { return 0 }
	if indexed, ok := searcher.(interface{ LookupTime() time.Duration }); ok {
		lookups = indexed.LookupTime
	}
	var answers, inIndex []time.Duration
	for i := range n {
		begun, before := time.Now(), lookups()
		if err := answer(i); err != nil {
			return answerTimes{}, err
		}
		if i > 0 || n == 1 {
			answers, inIndex = append(answers, time.Since(begun)), append(inIndex, lookups()-before)
		}
	}
	return answerTimes{median(answers), median(inIndex)}, nil
}

// median is the upper one of an even number of times; of none it is 0.
func median(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[len(times)/2]
}
