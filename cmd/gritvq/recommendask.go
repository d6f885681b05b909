package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/gritvq/gritvq/interactions"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/semid"
	"github.com/gritvq/gritvq/task/recommender"
)

func runRecommendAsk(ctx context.Context, s *streams, o recommendAskOptions) error {
	if o.count < 1 || o.beam < 1 {
		return usagef("-k %d and --beam %d must be at least 1", o.count, o.beam)
	}
	if err := o.search.check(); err != nil {
		return err
	}
	r, err := recommender.Load(o.dir)
	if err != nil {
		return err
	}
	if err := o.search.suit(r); err != nil {
		return err
	}
	var titles string
	if r.Table, titles, err = o.search.catalogue(o.dir, r.Table); err != nil {
		return err
	}
	query := recommender.Query{User: o.user}
	for _, name := range strings.FieldsFunc(o.history, func(c rune) bool { return c == ',' || c == ' ' }) {
		row, ok := r.Table.Row(name)
		if !ok {
			return fmt.Errorf("item %q is not in the catalogue of %s", name, titles)
		}
		query.History = append(query.History, int32(row))
	}
	backend, err := openEngine(o.backend)
	if err != nil {
		return err
	}
	searcher, err := r.Model.Searcher(ctx, backend, r.Weights, r.Table, recommender.SearchOptions{
		Depth: max(o.beam, o.count), ExcludeSeen: !o.seen, Users: 1, Index: o.search.index, Effort: o.search.effort})
	if err != nil {
		return err
	}
	defer searcher.Close()
	var lists [][]recommender.Scored
	times, err := timeAnswers(timedAsks, searcher, func(int) (err error) {
		lists, err = searcher.Recommend(ctx, []recommender.Query{query}, o.count)
		return err
	})
	if err != nil {
		return err
	}
	answers := newAnswers(r.Table, r.Model.Score(), times.answer)
	for _, item := range lists[0] {
		answers.add(item.Item, item.Score)
	}
	return answers.show(ctx, s, titles, o.json)
}

// timedAsks is how often a question is asked: once to warm up, then to tell the
// time that an answer takes a program which keeps the model loaded.
const timedAsks = 4

// answers are items that were found, as ask --json prints them.
type answers struct {
	Score string   `json:"score_is"`
	Items []answer `json:"items"`
	Time  float64  `json:"ms_per_answer"` // once the model is loaded

	table *semid.Table
}

type answer struct {
	Item  string   `json:"item"`
	Title string   `json:"title"`
	ID    []uint32 `json:"id"`
	Score float64  `json:"score"`
}

func newAnswers(table *semid.Table, score string, took time.Duration) *answers {
	return &answers{Score: score, Items: []answer{}, Time: 1000 * took.Seconds(), table: table}
}

func (a *answers) add(row int32, score float64) {
	a.Items = append(a.Items, answer{Item: a.table.Key(int(row)), ID: a.table.ID(int(row)), Score: score})
}

// show prints the answers with the titles that are kept in dir.
func (a *answers) show(ctx context.Context, s *streams, dir string, asJSON bool) error {
	titles, err := interactions.ReadItems(ctx, filepath.Join(dir, idsItems))
	if err != nil {
		return err
	}
	t := report.Table{Columns: []report.Column{{Name: "item"}, {Name: strings.ReplaceAll(a.Score, "_", " "), Align: report.Right}, {Name: "ID"}, {Name: "title"}}}
	for i := range a.Items {
		item := &a.Items[i]
		if row, ok := titles.Row(item.Item); ok {
			item.Title = titles.Items[row].Title
		}
		t.Rows = append(t.Rows, report.Cells(item.Item, report.Number(item.Score, 4), strings.Trim(fmt.Sprint(item.ID), "[]"), item.Title))
	}
	if asJSON {
		return s.writeJSON(a)
	}
	if err := t.Text(s.out); err != nil {
		return err
	}
	s.remark("%s ms for an answer, once loaded", report.Number(a.Time, 3))
	return nil
}
