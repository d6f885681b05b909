package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/internal/version"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/modeldir"
	"github.com/gritvq/gritvq/task/recommend/retrieval"
	"github.com/gritvq/gritvq/task/recommend/twotower"
	"github.com/gritvq/gritvq/train"
)

// openSearches reads searches over the catalogue of a directory, finds their
// answers in the table and says what there is.
func openSearches(ctx context.Context, s *cli.Streams, source retrieval.Source, dir string, table *catalogue.Table) (*retrieval.Dataset, error) {
	catalogue, err := interactions.ReadItems(ctx, filepath.Join(dir, catalogue.ItemsFile))
	if err != nil {
		return nil, err
	}
	queries, err := source.Open(ctx, catalogue)
	if err != nil {
		return nil, err
	}
	d, err := retrieval.NewDataset(queries, table)
	if err != nil {
		return nil, err
	}
	count := func(part interactions.Part) string { return report.Count(len(d.Queries(part))) }
	s.Remark("%s: %s searches to learn from with %s answers, %s for validation, %s for testing, over %s", source, count(interactions.TrainPart),
		report.Count(d.Pairs()), count(interactions.ValidationPart), count(interactions.TestPart), report.Counted(table.Len(), "item"))
	if queries.Unanswered > 0 {
		s.Remark("left out for want of an answer: %s", report.Count(queries.Unanswered))
	}
	return d, nil
}

func runRetrieveTrain(ctx context.Context, s *cli.Streams, o retrieveTrainOptions) error {
	c := retrieval.Default()
	if err := o.settings(&c, &c.Train, func() error { return c.Validate() }); err != nil {
		return err
	}
	if err := engine.UseWorkers(o.workers); err != nil {
		return err
	}
	if err := o.check("search engine", o.ids, o.source.Names...); err != nil {
		return err
	}
	table, err := catalogue.Load(o.ids)
	if err != nil {
		return err
	}
	d, err := openSearches(ctx, s, o.source, o.ids, table)
	if err != nil {
		return err
	}
	backend, err := engine.Choose(o.backend)
	if err != nil {
		return err
	}
	if err := o.claim(); err != nil {
		return err
	}
	o.warnOfLongRun(s, backend, "gritvq retrieve train")
	fingerprint := d.Fingerprint()
	watch := newLearnProgress(s, c.Train.Steps)
	r, err := retrieval.Train(ctx, backend, d, c, train.Options{Dir: o.output, Resume: o.resumes(), Watch: watch.observer(),
		Data: fingerprint + " " + table.Fingerprint()})
	watch.done()
	if err != nil {
		return watch.stopped(err)
	}
	defer r.Searcher.Close()
	validation, err := rankSearches(ctx, s, r.Searcher, d, interactions.ValidationPart, eval.RankCutoffs()[len(eval.RankCutoffs())-1])
	if err != nil {
		return err
	}
	r.Manifest = modeldir.Manifest{
		CreatedBy: version.CreatedBy(), Created: time.Now().UTC().Truncate(time.Second), Command: s.Command, Data: o.source.String(), DataHash: fingerprint,
		Queries: len(d.Queries(interactions.TrainPart)), Steps: c.Train.Steps, Seconds: r.Seconds, Validation: validation.Means()}
	if err := copyItems(o.ids, o.output); err != nil {
		return err
	}
	if err := r.Save(o.output); err != nil {
		return err
	}
	if err := train.RemoveCheckpoints(o.output); err != nil {
		return err
	}
	return o.showModel(s, "engine", r.Manifest)
}

// rankSearches scores the searches of a part and shows how far it is.
func rankSearches(ctx context.Context, s *cli.Streams, searcher *retrieval.Searcher, d *retrieval.Dataset, part interactions.Part, depth int) (*eval.Ranking, error) {
	line := s.Line(0, "rows")
	defer line.Done()
	return retrieval.Rank(ctx, searcher, d, part, retrieval.RankOptions{Depth: depth, Progress: func(done, total int) {
		line.Of(int64(total), "searches")
		line.Update(int64(done), "scored")
	}})
}

// searchScores is what retrieve eval --json prints.
type searchScores struct {
	Queries     int `json:"queries"`
	ColdQueries int `json:"cold_queries"`
	rankingResult
}

func runRetrieveEval(ctx context.Context, s *cli.Streams, o retrieveEvalOptions) error {
	if o.depth < 1 || o.cold < 0 {
		return usage.Errorf("--depth must be at least 1 and --cold not negative")
	}
	if err := o.search.check(); err != nil {
		return err
	}
	if err := checkRanking("--per-query", o.perQuery, o.dir, o.source.Names...); err != nil {
		return err
	}
	if err := engine.UseWorkers(o.workers); err != nil {
		return err
	}
	r, err := retrieval.Load(o.dir)
	if err != nil {
		return err
	}
	var titles string
	if r.Table, titles, err = o.search.catalogue(s, o.dir, r.Table); err != nil {
		return err
	}
	d, err := openSearches(ctx, s, o.source, titles, r.Table)
	if err != nil {
		return o.search.unreachable(o.dir, err)
	}
	warnOfOtherData(s, o.dir, r.Manifest, d.Fingerprint())
	backend, err := engine.Choose(o.backend)
	if err != nil {
		return err
	}
	searcher, err := r.Searcher(ctx, backend, twotower.SearchOptions{Index: o.search.index, Effort: o.search.effort})
	if err != nil {
		return err
	}
	defer searcher.Close()
	queries := d.Queries(interactions.TestPart)
	texts := make([]string, min(timedAnswers, len(queries)))
	for i := range texts {
		texts[i] = queries[i].Text
	}
	if _, err := searcher.Find(ctx, texts, o.depth); err != nil { // the first answers wait for programs to be compiled
		return err
	}
	begun := time.Now()
	ranking, err := rankSearches(ctx, s, searcher, d, interactions.TestPart, o.depth)
	if err != nil {
		return err
	}
	took := time.Since(begun)
	times, err := timeAnswers(len(texts), searcher, func(i int) error {
		_, err := searcher.Find(ctx, texts[i:i+1], o.depth)
		return err
	})
	if err != nil {
		return err
	}
	if o.perQuery != "" {
		if err := eval.WriteRanking(o.perQuery, ranking); err != nil {
			return err
		}
	}
	cold, err := ranking.Subset(d.Cold(interactions.TestPart, o.cold))
	if err != nil {
		return err
	}
	out := searchScores{Queries: ranking.Len(), ColdQueries: cold.Len(), rankingResult: newRankingResult(ranking, cold, o.depth, took, times)}
	out.Kind, out.Items, out.Search, out.Effort, out.ColdAt = r.Manifest.Kind, r.Table.Len(), o.search.index, o.search.effort, o.cold
	if o.json {
		return s.WriteJSON(out)
	}
	seen := "do not occur in training"
	if o.cold > 0 {
		seen = fmt.Sprintf("occur at most %s in training", report.Counted(o.cold, "time"))
	}
	return out.show(s, fmt.Sprintf("searches whose answers %s: %s", seen, report.Count(cold.Len())))
}

func runRetrieveAsk(ctx context.Context, s *cli.Streams, o retrieveAskOptions) error {
	if o.count < 1 {
		return usage.Errorf("-k %d must be at least 1", o.count)
	}
	if err := o.search.check(); err != nil {
		return err
	}
	r, err := retrieval.Load(o.dir)
	if err != nil {
		return err
	}
	var titles string
	if r.Table, titles, err = o.search.catalogue(s, o.dir, r.Table); err != nil {
		return err
	}
	if len(r.Model.Words(o.text)) == 0 {
		return usage.Errorf("%q has no word to search for", o.text)
	}
	backend, err := engine.Choose(o.backend)
	if err != nil {
		return err
	}
	searcher, err := r.Searcher(ctx, backend, twotower.SearchOptions{Index: o.search.index, Effort: o.search.effort})
	if err != nil {
		return err
	}
	defer searcher.Close()
	var lists [][]twotower.Scored
	times, err := timeAnswers(timedAsks, searcher, func(int) (err error) {
		lists, err = searcher.Find(ctx, []string{o.text}, o.count)
		return err
	})
	if err != nil {
		return err
	}
	answers := newAnswers(r.Table, "inner_product", times.answer)
	for _, item := range lists[0] {
		answers.add(item.Item, item.Score)
	}
	return answers.show(ctx, s, titles, o.json)
}
