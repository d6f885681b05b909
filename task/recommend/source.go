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

// Source is where the data of a model come from, see [Log] and [Searches].
type Source struct {
	Purpose *Purpose // of models that learn from such data
	Name    string   // of the data, without directories
	Paths   []string // of the files; perhaps names of synthetic data
	// Open reads the data and finds their items in a catalogue.
	Open func(ctx context.Context, c *catalogue.Catalogue, w task.Watcher) (*Dataset, error)
}

// Log is a log of interactions, see interactions.Open.
func Log(path string, o interactions.Options) Source {
	open := func(ctx context.Context, c *catalogue.Catalogue, w task.Watcher) (*Dataset, error) {
		log, err := interactions.Open(ctx, path, o)
		if err != nil {
			return nil, err
		}
		if log.InFileOrder() {
			w.Remark("%s: rows are taken to be in chronological order", path)
		}
		stats := log.Stats()
		w.Remark("%s: %s users, %s items, %s interactions; a user has %s in the mean and %s in the median", path,
			report.Count(stats.Users), report.Count(stats.Items), report.Count(stats.Interactions),
			report.Number(stats.MeanLength, 3), report.Number(stats.MedianLength, 3))
		d, err := FromLog(log, c.Table)
		if err == nil {
			d.Items = c.Items
		}
		return d, err
	}
	return Source{Recommending, dataset.Name(path), []string{path}, open}
}

// Searches are texts with the items that answer them: files as
// interactions.ReadQueries reads them, or the one name "derived", which makes
// searches up from the catalogue, see interactions.DeriveQueries.
// "derived?count=1000&answers=20&seed=2" bounds their number and that of their
// answers, and draws others.
func Searches(names []string, o interactions.QueryOptions) Source {
	var bases []string
	for _, name := range names {
		bases = append(bases, filepath.Base(name))
	}
	name := strings.Join(bases, " ")
	open := func(ctx context.Context, c *catalogue.Catalogue, w task.Watcher) (*Dataset, error) {
		queries, err := readSearches(ctx, names, o, c.Items)
		if err != nil {
			return nil, err
		}
		d, err := FromSearches(queries, c.Table)
		if err != nil {
			return nil, err
		}
		d.Items = c.Items
		count := func(part Part) string { return report.Count(len(d.cases[part])) }
		w.Remark("%s: %s searches to learn from with %s answers, %s for validation, %s for testing, over %s", name,
			count(TrainPart), report.Count(d.Examples()), count(ValidationPart), count(TestPart), report.Counted(c.Len(), "item"))
		if queries.Unanswered > 0 {
			w.Remark("left out for want of an answer: %s", report.Count(queries.Unanswered))
		}
		return d, nil
	}
	return Source{Searching, name, names, open}
}

// readSearches reads files, which bring a catalogue of their own, or makes searches
// up from the given one.
func readSearches(ctx context.Context, names []string, o interactions.QueryOptions, items *interactions.Catalogue) (
	*interactions.Queries, error) {
	if name, _, _ := strings.Cut(strings.Join(names, " "), "?"); name != "derived" {
		return interactions.ReadQueries(ctx, names, o)
	}
	options, err := parseDerived(names[0])
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
