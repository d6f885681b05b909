package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/interactions"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/recommender"
	"github.com/gritvq/gritvq/task/seqrec"
)

// recommendScores is what recommend eval --json prints.
type recommendScores struct {
	Users     int                  `json:"users"`
	Items     int                  `json:"items"`
	Beam      int                  `json:"beam"`
	Scores    []eval.RankingScores `json:"scores"`
	Cold      []eval.RankingScores `json:"cold"`
	ColdUsers int                  `json:"cold_users"`
	ColdAt    int                  `json:"cold_at_most"`
}

func runRecommendEval(ctx context.Context, s *streams, o recommendEvalOptions) error {
	if o.beam < 1 || o.cold < 0 {
		return usagef("--beam must be at least 1 and --cold not negative")
	}
	if err := useWorkers(o.workers); err != nil {
		return err
	}
	r, err := recommender.Load(o.dir)
	if err != nil {
		return err
	}
	log, err := openLog(ctx, s, o.log)
	if err != nil {
		return err
	}
	d, err := recommender.NewDataset(log, r.Table)
	if err != nil {
		return err
	}
	backend, err := openEngine(o.backend)
	if err != nil {
		return err
	}
	line := s.line(log.Users())
	ranking, err := recommender.Rank(ctx, backend, r.Model, r.Weights, d, recommender.Test, recommender.RankOptions{Beam: o.beam, Progress: func(done, _ int) {
		line.Update(int64(done), "users scored")
	}})
	line.Done()
	if err != nil {
		return err
	}
	var cutoffs []int
	for _, k := range eval.RankCutoffs() {
		if k <= o.beam {
			cutoffs = append(cutoffs, k)
		}
	}
	if o.perUser != "" {
		if err := eval.WriteRanking(o.perUser, ranking, cutoffs...); err != nil {
			return err
		}
	}
	cold, err := ranking.Subset(d.Cold(recommender.Test, o.cold))
	if err != nil {
		return err
	}
	out := recommendScores{Users: ranking.Len(), Items: r.Table.Len(), Beam: o.beam, Scores: ranking.Means(cutoffs...), ColdUsers: cold.Len(), ColdAt: o.cold}
	if cold.Len() > 0 {
		out.Cold = cold.Means(cutoffs...)
	}
	if o.json {
		return s.writeJSON(out)
	}
	if err := rankingTable("test", out.Scores).Text(s.out); err != nil || cold.Len() == 0 {
		return err
	}
	fmt.Fprintf(s.out, "\n%s whose item occurs at most %d times in training:\n", counted(cold.Len(), "user"), o.cold)
	return rankingTable("cold", out.Cold).Text(s.out)
}

// answer is one recommended item.
type answer struct {
	Item  string   `json:"item"`
	Title string   `json:"title"`
	ID    []uint32 `json:"id"`
	Score float64  `json:"log_probability"`
}

func runRecommendAsk(ctx context.Context, s *streams, o recommendAskOptions) error {
	if o.count < 1 {
		return usagef("-k %d: ask for at least one item", o.count)
	}
	r, err := recommender.Load(o.dir)
	if err != nil {
		return err
	}
	query := seqrec.Query{User: o.user}
	for _, name := range strings.FieldsFunc(o.history, func(c rune) bool { return c == ',' || c == ' ' }) {
		row, ok := r.Table.Row(name)
		if !ok {
			return fmt.Errorf("item %q is not in the catalogue of %s", name, o.dir)
		}
		query.History = append(query.History, int32(row))
	}
	query.History = interactions.Recent(query.History, r.Model.Config.History)
	items, err := seqrec.NewItems(r.Table.IDs(), r.Table.Vocab())
	if err != nil {
		return err
	}
	backend, err := openEngine(o.backend)
	if err != nil {
		return err
	}
	searcher, err := seqrec.NewSearcher(backend, r.Model, r.Weights, items, seqrec.SearchOptions{Beam: max(o.beam, o.count), ExcludeSeen: !o.seen, Users: 1})
	if err != nil {
		return err
	}
	defer searcher.Close()
	lists, err := searcher.Recommend(ctx, []seqrec.Query{query}, o.count)
	if err != nil {
		return err
	}
	titles, err := interactions.ReadItems(ctx, filepath.Join(o.dir, idsItems))
	if err != nil {
		return err
	}
	var answers []answer
	for _, item := range lists[0] {
		a := answer{Item: r.Table.Key(int(item.Item)), ID: r.Table.ID(int(item.Item)), Score: item.LogProbability}
		if row, ok := titles.Row(a.Item); ok {
			a.Title = titles.Items[row].Title
		}
		answers = append(answers, a)
	}
	if o.json {
		return s.writeJSON(map[string]any{"items": answers})
	}
	t := report.Table{Columns: []report.Column{{Name: "item"}, {Name: "probability", Align: report.Right}, {Name: "ID"}, {Name: "title"}}}
	for _, a := range answers {
		t.Rows = append(t.Rows, report.Cells(a.Item, report.Number(math.Exp(a.Score), 3), strings.Trim(fmt.Sprint(a.ID), "[]"), a.Title))
	}
	return t.Text(s.out)
}

func runSignificance(s *streams, o significanceOptions) error {
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
		for _, k := range []int{5, 10, 20} {
			c, err := eval.CompareRankings(a, b, metric, k, 1)
			if err != nil {
				return err
			}
			all = append(all, c)
		}
	}
	if o.json {
		return s.writeJSON(map[string]any{"a": o.a, "b": o.b, "users": a.Len(), "comparisons": all})
	}
	t := report.Table{Caption: fmt.Sprintf("%s; the interval is the bootstrap's, 95 %%", counted(a.Len(), "user")),
		Columns: []report.Column{{Name: "metric"}, {Name: "A", Align: report.Right}, {Name: "B", Align: report.Right}, {Name: "A - B", Align: report.Right}, {Name: "interval", Align: report.Right}, {Name: "t test p", Align: report.Right}, {Name: "Wilcoxon p", Align: report.Right}}}
	for _, c := range all {
		t.Rows = append(t.Rows, report.Cells(fmt.Sprintf("%s@%d", c.Metric, c.K), report.Number(c.A, 4), report.Number(c.B, 4), report.Number(c.A-c.B, 3),
			fmt.Sprintf("%s to %s", report.Number(c.Low, 3), report.Number(c.High, 3)), report.Number(c.Paired.P, 3), report.Number(c.Wilcoxon.P, 3)))
	}
	return t.Text(s.out)
}
