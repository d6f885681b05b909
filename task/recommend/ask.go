package recommend

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/recommend/network"
)

// AskOptions are a question to a stored model.
type AskOptions struct {
	Dir     string
	Purpose *Purpose
	User    string   // of a recommender: the user, if known to it
	History []string // of a recommender: names of items, the latest last
	Text    string   // of a search engine
	SearchOptions
	Count   int    // items to find
	Beam    int    // beams of a generative model, at least Count
	Seen    Seen   // rule for items of the history; empty: that of the model's evaluation
	Backend string // see engine.Choose
}

// Answers are the items that a model found.
type Answers struct {
	Score string   `json:"score_is"`
	Seen  Seen     `json:"seen_items,omitempty"`
	Items []Answer `json:"items"`
	Time  float64  `json:"ms_per_answer"` // once the model is loaded
}

// Answer is one item that a model found.
type Answer struct {
	Item  string   `json:"item"`
	Title string   `json:"title"`
	ID    []uint32 `json:"id"`
	Score float64  `json:"score"`
}

// timedAsks is how often a question is asked: once to warm up, then to be timed.
const timedAsks = 4

// Ask asks a stored model.
func Ask(ctx context.Context, o AskOptions, w task.Watcher) (*Answers, error) {
	if o.Count < 1 {
		return nil, usage.Errorf("-k %d must be at least 1", o.Count)
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	r, err := o.load(ctx, o.Dir, o.Purpose, w)
	if err != nil {
		return nil, err
	}
	question, err := o.question(r)
	if err != nil {
		return nil, err
	}
	seen := cmp.Or(o.Seen, r.Manifest.Protocol.Seen, DropSeen)
	ranker, err := r.ranker(ctx, o.Backend, network.Options{
		Depth: max(o.Beam, o.Count), ExcludeSeen: seen == DropSeen, Questions: 1, Index: o.Search, Effort: o.Effort})
	if err != nil {
		return nil, err
	}
	defer ranker.Close()
	var lists [][]Scored
	took, _, err := timeAnswers(timedAsks, ranker, func(int) (err error) {
		lists, err = ranker.Top(ctx, []Question{question}, o.Count)
		return err
	})
	if err != nil {
		return nil, err
	}
	if found := len(lists[0]); found < o.Count && o.Search != "" && found < r.Catalogue.Len()-len(question.History) {
		w.Remark("note: %d of %d were found where --search %s looked; a larger --effort looks further", found, o.Count, o.Search)
	}
	answers := &Answers{Score: r.Config.Kind().Score, Items: []Answer{}, Time: 1000 * took.Seconds()}
	if o.Purpose == Recommending {
		answers.Seen = seen
	}
	for _, found := range lists[0] {
		row := int(found.Item)
		key := r.Catalogue.Key(row)
		answers.Items = append(answers.Items, Answer{key, r.Catalogue.Title(key), r.Catalogue.ID(row), found.Score})
	}
	return answers, nil
}

// question finds the history in the catalogue. An unknown name may be several,
// separated by blanks.
func (o AskOptions) question(r *Recommender) (Question, error) {
	q := Question{Name: o.User, Text: o.Text}
	if o.User != "" && !r.Config.Kind().Users {
		return q, usage.Errorf("--user %s: a %s encoder goes by the history alone; leave it out", o.User, r.Config.Kind().Name)
	}
	letter := func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }
	if o.Purpose == Searching && !strings.ContainsFunc(o.Text, letter) {
		return q, usage.Errorf("%q has no word to search for", o.Text)
	}
	for _, name := range o.History {
		parts := []string{name}
		if _, ok := r.Catalogue.Row(name); !ok {
			parts = strings.Fields(name)
		}
		for _, part := range parts {
			row, ok := r.Catalogue.Row(part)
			if !ok {
				return q, fmt.Errorf("item %q is not in the catalogue of %s", name, cmp.Or(o.IDs, o.Dir))
			}
			q.History = append(q.History, int32(row))
		}
	}
	return q, nil
}
