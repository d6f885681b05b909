package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/usage"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend"
)

func runRecommendAsk(ctx context.Context, s *cli.Streams, o recommendAskOptions) error {
	if o.count < 1 {
		return usage.Errorf("-k %d must be at least 1", o.count)
	}
	if o.beam < 1 {
		return usage.Errorf("--beam %d must be at least 1", o.beam)
	}
	if err := o.search.check(); err != nil {
		return err
	}
	r, err := recommend.Load(o.dir)
	if err != nil {
		return err
	}
	if err := o.search.suit(r); err != nil {
		return err
	}
	if r.Config.Kind() == "dual" && o.user != "" {
		return usage.Errorf("--user %s: a dual encoder goes by the history alone; leave it out", o.user)
	}
	var titles string
	if r.Table, titles, err = o.search.catalogue(s, o.dir, r.Table); err != nil {
		return err
	}
	names, err := itemNames(o.history)
	if err != nil {
		return err
	}
	query := recommend.Query{User: o.user}
	for _, name := range names {
		parts := []string{name}
		if _, ok := r.Table.Row(name); !ok {
			parts = strings.Fields(name) // items may also be separated by blanks
		}
		for _, part := range parts {
			row, ok := r.Table.Row(part)
			if !ok {
				return fmt.Errorf("item %q is not in the catalogue of %s", name, titles)
			}
			query.History = append(query.History, int32(row))
		}
	}
	backend, err := engine.Choose(o.backend)
	if err != nil {
		return err
	}
	searcher, err := r.Model.Searcher(ctx, backend, r.Weights, r.Table, recommend.SearchOptions{
		Depth: max(o.beam, o.count), ExcludeSeen: !o.seen, Users: 1, Index: o.search.index, Effort: o.search.effort})
	if err != nil {
		return err
	}
	defer searcher.Close()
	var lists [][]recommend.Scored
	times, err := timeAnswers(timedAsks, searcher, func(int) (err error) {
		lists, err = searcher.Recommend(ctx, []recommend.Query{query}, o.count)
		return err
	})
	if err != nil {
		return err
	}
	if found := len(lists[0]); found < o.count && o.search.index != "" && found < r.Table.Len()-len(query.History) {
		s.Remark("note: %d of %d were found where --search %s looked; a larger --effort looks further", found, o.count, o.search.index)
	}
	answers := newAnswers(r.Table, r.Model.Score(), times.answer)
	for _, item := range lists[0] {
		answers.add(item.Item, item.Score)
	}
	return answers.show(ctx, s, titles, o.json)
}

// itemNames splits a list of items at its commas, but for those in quotes.
func itemNames(list string) ([]string, error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	in := csv.NewReader(strings.NewReader(strings.NewReplacer("\r\n", ",", "\n", ",").Replace(list)))
	in.TrimLeadingSpace = true
	names, err := in.Read()
	if err != nil {
		return nil, usage.Errorf(`--history %s: write item,item,"an item, with a comma"`, list)
	}
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" }), nil
}

// timedAsks is how often a question is asked: once to warm up, then to tell the
// time that an answer takes a program which keeps the model loaded.
const timedAsks = 4

// answers are items that were found, as ask --json prints them.
type answers struct {
	Score string   `json:"score_is"`
	Items []answer `json:"items"`
	Time  float64  `json:"ms_per_answer"` // once the model is loaded

	table *catalogue.Table
}

type answer struct {
	Item  string   `json:"item"`
	Title string   `json:"title"`
	ID    []uint32 `json:"id"`
	Score float64  `json:"score"`
}

func newAnswers(table *catalogue.Table, score string, took time.Duration) *answers {
	return &answers{Score: score, Items: []answer{}, Time: 1000 * took.Seconds(), table: table}
}

func (a *answers) add(row int32, score float64) {
	a.Items = append(a.Items, answer{Item: a.table.Key(int(row)), ID: a.table.ID(int(row)), Score: score})
}

// show prints the answers with the titles that are kept in dir.
func (a *answers) show(ctx context.Context, s *cli.Streams, dir string, asJSON bool) error {
	titles, err := interactions.ReadItems(ctx, filepath.Join(dir, catalogue.ItemsFile))
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
		return s.WriteJSON(a)
	}
	if err := t.Text(s.Out); err != nil {
		return err
	}
	s.Remark("%s ms for an answer, once loaded", report.Number(a.Time, 3))
	return nil
}
