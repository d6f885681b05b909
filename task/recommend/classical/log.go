package classical

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/weights"
)

// Log is the training part of a log: the items, below Items, that every user took,
// oldest first.
type Log struct {
	Items int
	Users [][]int32
}

// check refuses an item outside the catalogue.
func (l Log) check() error {
	if l.Items < 1 {
		return fmt.Errorf("a log needs at least one item")
	}
	for u, items := range l.Users {
		for _, item := range items {
			if item < 0 || int(item) >= l.Items {
				return fmt.Errorf("user %d took item %d of a catalogue of %d", u, item, l.Items)
			}
		}
	}
	return nil
}

// Counts returns how often each item was taken.
func (l Log) Counts() []int {
	counts := make([]int, l.Items)
	for _, items := range l.Users {
		for _, item := range items {
			counts[item]++
		}
	}
	return counts
}

// Method is a classical recommender with its settings.
type Method interface {
	// Fit counts. ctx stops it.
	Fit(ctx context.Context, log Log) (Fitted, error)
	// Alternatives are the settings themselves and others that may suit a log better,
	// apart from the weighting; Weightings are those of histories. See [Choose].
	Alternatives() []Method
	Weightings() []Weighting
	// With is the method with another weighting.
	With(w Weighting) Method
	// Load makes a scorer of packed arrays for a catalogue of so many items.
	Load(set weights.Set, items int) (Scorer, error)
	// String describes the method and its settings in a few words.
	String() string
}

// Scorer scores all items. It is safe for concurrent use.
type Scorer interface {
	// Score writes the scores [items] after a history, the latest item last.
	Score(history []int32, scores []float32)
}

// Fitted is a method that was fitted on a log.
type Fitted interface {
	Scorer
	// ScoreWithout writes the scores after a history, a part of own, as Score would if
	// the user who took own, one of the log's, were not in the log.
	ScoreWithout(own, history []int32, scores []float32)
	// With is the same with another weighting; it shares memory.
	With(w Weighting) Fitted
	// Pack returns the arrays that Load needs.
	Pack() weights.Set
}

// Weighting says how the items of a history count.
type Weighting struct {
	Last  int     `yaml:"last" min:"0" doc:"Items of a history that count, the last ones (0: all)."`
	Decay float64 `yaml:"decay" min:"0" doc:"The item k places from the end of a history has weight 1/k^decay."`
}

// String describes the weighting.
func (w Weighting) String() string {
	if w.Last == 0 {
		return fmt.Sprintf("whole history, decay %g", w.Decay)
	}
	return fmt.Sprintf("last %d, decay %g", w.Last, w.Decay)
}
