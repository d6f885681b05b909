package catalogue

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/internal/parallel"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/catalogue/itemfactors"
)

// LogFile is a log of interactions, see interactions.Open.
type LogFile struct {
	Path string // "" for none
	interactions.Options
}

// Cooccurrence says what the vectors of a catalogue have from a log: after the content follow Rank factors of the items that
// users take together, times Gamma. Both were chosen by the share of users whose validation item is among the 10 nearest to
// their last items.
type Cooccurrence struct {
	Log         string              `json:"log"`
	Fingerprint string              `json:"log_fingerprint"`
	Gamma       float64             `json:"gamma"`
	Rank        int                 `json:"rank"` // 0 if the content alone predicts best
	Recall      float64             `json:"validation_recall"`
	Users       int                 `json:"validation_users"` // 0 if there are none: Gamma and Rank were not chosen then
	Trials      []itemfactors.Trial `json:"trials"`
	Alone       bool                `json:"alone,omitempty"` // there is no content
}

// Cooccurrence says what the vectors of the items have from a log; nil if there was none.
func (t *Table) Cooccurrence() *Cooccurrence { return t.taken }

func (s *source) readLog(ctx context.Context, watch task.Watcher) (err error) {
	if s.Log.Path == "" {
		return nil
	}
	if s.log, err = interactions.Open(ctx, s.Log.Path, s.Log.Options); err != nil {
		return err
	}
	if s.log.InFileOrder() {
		watch.Remark("%s: rows are taken to be in chronological order", s.Log.Path)
	}
	return nil
}

// nameLogged takes the items of the log as the catalogue.
func (s *source) nameLogged() error {
	s.items = make([]interactions.Item, s.log.Items())
	for i := range s.items {
		s.items[i].ID = s.log.Item(i)
	}
	s.vectors = s.Log.Path
	return nil
}

// sequences are those of the log, with items as rows of the catalogue.
func (s *source) sequences() (*itemfactors.Sequences, error) {
	list, err := interactions.NewCatalogue(s.items)
	if err != nil {
		return nil, err
	}
	rows, err := list.RowsOf(s.log)
	if err != nil {
		return nil, err
	}
	of := func(items []int32) []int32 {
		found := make([]int32, len(items))
		for i, item := range items {
			found[i] = rows[item]
		}
		return found
	}
	result := &itemfactors.Sequences{Items: len(s.items), Repeats: s.log.Stats().Repeats > 0}
	for u := range s.log.Users() {
		user := itemfactors.User{Train: of(s.log.Train(u)), Validation: -1}
		if _, item, ok := s.log.Validation(u); ok {
			user.Validation = rows[item]
		}
		result.Users = append(result.Users, user)
	}
	return result, nil
}

// addFactors appends factors of the log to the vectors, unless the content alone predicts validation items better.
func (s *source) addFactors(ctx context.Context, watch task.Watcher) error {
	if s.log == nil {
		return nil
	}
	sequences, err := s.sequences()
	if err != nil {
		return err
	}
	factors, err := parallel.Until(ctx, func() (*itemfactors.Factors, error) { return itemfactors.Fit(sequences) })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s gives no vectors: %w; give a longer log, or leave --log out", s.Log.Path, err)
	}
	choice, err := itemfactors.Choose(ctx, sequences, factors, s.values, s.dim)
	if err != nil {
		return err
	}
	s.taken = &Cooccurrence{Log: dataset.Name(s.Log.Path), Fingerprint: s.log.Fingerprint(), Gamma: choice.Gamma, Rank: choice.Rank,
		Recall: choice.Recall, Users: choice.Users, Trials: choice.Trials, Alone: s.dim == 0}
	watch.Remark("%s: %s", s.Log.Path, s.taken)
	if choice.Gamma == 0 {
		s.taken.Rank = 0
		return nil
	}
	weight := choice.Gamma * itemfactors.Length(s.values, s.dim)
	joined, dim := factors.First(choice.Rank, weight).Join(s.values, s.dim), s.dim+choice.Rank
	s.factors = choice.Rank
	return s.keepVectors(joinedVectors, joined, dim)
}

// String says in a sentence what was chosen, and why.
func (c *Cooccurrence) String() string {
	nearest := fmt.Sprintf("the 10 nearest items hold the validation item of %s of %s", report.Percent(c.Recall, 1),
		report.Counted(c.Users, "user"))
	factors := report.Counted(c.Rank, "factor") + " of items taken together"
	switch {
	case c.Users == 0:
		return factors + ", not weighed: no user has three items"
	case c.Alone:
		return factors + "; " + nearest
	case c.Gamma == 0:
		return "items taken together do not help; " + nearest + " by the content alone"
	}
	return fmt.Sprintf("%s, weight %s; %s, by the content alone %s", factors, report.Number(c.Gamma, 3), nearest,
		report.Percent(c.Trials[0].Recall, 1))
}

// Table lists what was tried.
func (c *Cooccurrence) Table() report.Table {
	t := report.Table{Columns: report.Columns(report.Right, "weight", "factors", "recall@10 of validation items")}
	for _, trial := range c.Trials {
		rank := trial.Rank
		if trial.Gamma == 0 {
			rank = 0
		}
		t.Rows = append(t.Rows, report.Cells(report.Number(trial.Gamma, 3), report.Count(rank), report.Number(trial.Recall, 4)))
	}
	return t
}

// widen appends factors of 0 to the vectors of new items, which no log knows.
func (s *source) widen(c *Cooccurrence, dir string) error {
	if c == nil || c.Rank == 0 {
		return nil
	}
	if c.Alone {
		return fmt.Errorf("%s was made from a log alone, which says nothing about new items; make the IDs anew with a log that has them", dir)
	}
	none := &itemfactors.Factors{Rank: c.Rank, Values: make([]float32, len(s.items)*c.Rank)}
	s.values, s.factors = none.Join(s.values, s.dim), c.Rank
	s.dim += c.Rank
	return nil
}
