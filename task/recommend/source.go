package recommend

import (
	"context"
	"math"
	"path/filepath"
	"strings"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/catalogue"
)

// Source is where the data of a model come from: [Log] or [Searches].
type Source interface {
	// Purpose is what models of such data are for.
	Purpose() *Purpose
	// Open reads the data and finds their items in a catalogue.
	Open(ctx context.Context, c *catalogue.Catalogue, w task.Watcher) (*Dataset, error)
	// Paths are the files that are read, and perhaps names of synthetic data.
	Paths() []string
	// String names the data without the directories of their files.
	String() string
}

// Log is a log of interactions.
type Log struct {
	Path string
	interactions.Options
}

// Purpose is to recommend.
func (Log) Purpose() *Purpose { return Recommending }

// Paths is the log alone.
func (l Log) Paths() []string { return []string{l.Path} }

func (l Log) String() string { return dataset.Name(l.Path) }

// Open reads the log.
func (l Log) Open(ctx context.Context, c *catalogue.Catalogue, w task.Watcher) (*Dataset, error) {
	log, err := interactions.Open(ctx, l.Path, l.Options)
	if err != nil {
		return nil, err
	}
	if log.InFileOrder() {
		w.Remark("%s: rows are taken to be in chronological order", l.Path)
	}
	stats := log.Stats()
	w.Remark("%s: %s users, %s items, %s interactions; a user has %s in the mean and %s in the median", l.Path,
		report.Count(stats.Users), report.Count(stats.Items), report.Count(stats.Interactions),
		report.Number(stats.MeanLength, 3), report.Number(stats.MedianLength, 3))
	return FromLog(log, c.Table)
}

// Searches are texts with the items that answer them.
type Searches struct {
	// Names are parquet files in the layout of Amazon's Shopping Queries Dataset
	// (ESCI), or the one name "derived": searches made up from the catalogue, see
	// interactions.DeriveQueries. "derived?count=1000&answers=20&seed=2" bounds
	// their number and that of their answers, and draws others.
	Names []string
	// ESCI selects from the files.
	ESCI interactions.ESCIOptions
}

// derived is the name of searches that are made up.
const derived = "derived"

// Purpose is to search.
func (Searches) Purpose() *Purpose { return Searching }

// Paths are the names.
func (s Searches) Paths() []string { return s.Names }

func (s Searches) String() string {
	var names []string
	for _, name := range s.Names {
		names = append(names, filepath.Base(name))
	}
	return strings.Join(names, " ")
}

// Open reads the searches.
func (s Searches) Open(ctx context.Context, c *catalogue.Catalogue, w task.Watcher) (*Dataset, error) {
	queries, err := s.read(ctx, c.Items)
	if err != nil {
		return nil, err
	}
	d, err := FromSearches(queries, c.Table)
	if err != nil {
		return nil, err
	}
	count := func(part Part) string { return report.Count(len(d.cases[part])) }
	w.Remark("%s: %s searches to learn from with %s answers, %s for validation, %s for testing, over %s", s,
		count(TrainPart), report.Count(d.Examples()), count(ValidationPart), count(TestPart), report.Counted(c.Len(), "item"))
	if queries.Unanswered > 0 {
		w.Remark("left out for want of an answer: %s", report.Count(queries.Unanswered))
	}
	return d, nil
}

// read reads the files, which bring a catalogue of their own, or makes searches up
// from the given one.
func (s Searches) read(ctx context.Context, items *interactions.Catalogue) (*interactions.Queries, error) {
	if name, _, _ := strings.Cut(strings.Join(s.Names, " "), "?"); name != derived {
		return interactions.ReadESCI(ctx, s.Names, s.ESCI)
	}
	options, err := parseDerived(s.Names[0])
	if err != nil {
		return nil, err
	}
	return interactions.DeriveQueries(items, options)
}

// parseDerived reads the options behind the name of searches that are made up.
func parseDerived(name string) (interactions.DeriveOptions, error) {
	_, query, _ := strings.Cut(name, "?")
	values, err := dataset.ParseParameters(name, query, []dataset.Parameter{{Name: "count"}, {Name: "answers"}, {Name: "seed"}})
	bound := func(key string) int { return int(min(values[key], math.MaxInt32)) }
	return interactions.DeriveOptions{Count: bound("count"), MaxAnswers: bound("answers"), Seed: values["seed"]}, err
}
