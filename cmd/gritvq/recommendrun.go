package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/internal/version"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend"
	"github.com/gritvq/gritvq/task/recommend/modeldir"
	"github.com/gritvq/gritvq/train"
)

// preset is the configuration of --model, or of the only kind that --config can
// be of where --model was not given.
func (o recommendTrainOptions) preset() (recommend.Config, error) {
	c, err := recommend.Default(o.model)
	if err != nil {
		return nil, usage.Errorf("--model: %w", err)
	}
	document, err := os.ReadFile(o.config)
	if err != nil {
		return c, nil // there is none, or settings says why it cannot be read
	}
	var fits []recommend.Config
	for _, kind := range recommend.Kinds() {
		other, err := recommend.Default(kind)
		if err != nil {
			return nil, err
		}
		if config.Decode(document, other) == nil {
			fits = append(fits, other)
		}
	}
	switch {
	case len(fits) != 1 || fits[0].Kind() == o.model:
		return c, nil
	case o.given("model"):
		return nil, usage.Errorf("%s is a configuration of a %s model: leave out --model %s, or give a file for that", o.config, fits[0].Kind(), o.model)
	}
	return recommend.Default(fits[0].Kind())
}

func runRecommendTrain(ctx context.Context, s *cli.Streams, o recommendTrainOptions) error {
	c, err := o.preset()
	if err != nil {
		return err
	}
	if err := o.settings(c, c.Training(), c.Validate); err != nil {
		return err
	}
	if err := engine.UseWorkers(o.workers); err != nil {
		return err
	}
	if err := o.log.check(); err != nil {
		return err
	}
	if err := o.check("recommender", o.ids, o.log.path); err != nil {
		return err
	}
	table, err := catalogue.Load(o.ids)
	if err != nil {
		return err
	}
	log, err := o.log.open(ctx, s)
	if err != nil {
		return err
	}
	d, err := recommend.NewDataset(log, table)
	if err != nil {
		return err
	}
	if err := d.Trainable(); err != nil {
		return err
	}
	backend, err := engine.Choose(o.backend)
	if err != nil {
		return err
	}
	if err := o.claim(); err != nil {
		return err
	}
	m, err := c.New(table.Vocab())
	if err != nil {
		return err
	}
	s.Remark("training on %s examples: IDs of %d codes, %s", report.Count(d.Examples()), table.Width(), m)
	o.warnOfLongRun(s, backend, "gritvq recommend train")
	fingerprint := d.Fingerprint()
	watch := newLearnProgress(s, c.Training().Steps)
	trained, err := recommend.Train(ctx, backend, d, c, train.Options{Dir: o.output, Resume: o.resumes(), Watch: watch.observer(),
		Data: fingerprint + " " + log.Order() + " " + table.Fingerprint()})
	watch.done()
	if err != nil {
		return watch.stopped(err)
	}
	defer trained.Searcher.Close()
	validation, err := rankUsers(ctx, s, trained.Searcher, d, recommend.Validation, c.Validation().Depth)
	if err != nil {
		return err
	}
	r := &recommend.Recommender{Config: c, Model: trained.Model, Weights: trained.Weights, Table: table, Manifest: modeldir.Manifest{
		CreatedBy: version.CreatedBy(), Created: time.Now().UTC().Truncate(time.Second), Command: s.Command, Data: dataset.Name(o.log.path), DataHash: fingerprint,
		Users: log.Users(), Steps: c.Training().Steps, Seconds: trained.Seconds, Validation: validation.Means()}}
	if err := copyItems(o.ids, o.output); err != nil {
		return err
	}
	if err := r.Save(o.output); err != nil {
		return err
	}
	if err := train.RemoveCheckpoints(o.output); err != nil {
		return err
	}
	return o.showModel(s, "recommender", r.Manifest)
}

// rankUsers scores the held-out items of all users and shows how far it is.
func rankUsers(ctx context.Context, s *cli.Streams, searcher recommend.Searcher, d *recommend.Dataset, part recommend.Part, depth int) (*eval.Ranking, error) {
	line := s.Line(0, "rows")
	defer line.Done()
	return recommend.Rank(ctx, searcher, d, part, recommend.RankOptions{Depth: depth, Progress: func(done, total int) {
		line.Of(int64(total), "users")
		line.Update(int64(done), "scored")
	}})
}

// showModel prints what training came to.
func (o modelTraining) showModel(s *cli.Streams, what string, m modeldir.Manifest) error {
	if o.json {
		return s.WriteJSON(m)
	}
	if err := rankingTable("validation", m.Validation).Text(s.Out); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.Out, "\n%-12s %s\n%-12s %s\n", "time:", report.Duration(time.Duration(m.Seconds*float64(time.Second))), what+":", o.output)
	return err
}

// rankingTable shows scores by cutoff.
func rankingTable(name string, scores []eval.RankingScores) report.Table {
	t := report.Table{Columns: []report.Column{{Name: name}, {Name: "recall", Align: report.Right}, {Name: "NDCG", Align: report.Right}, {Name: "MRR", Align: report.Right}}}
	for _, r := range scores {
		t.Rows = append(t.Rows, report.Cells(fmt.Sprintf("@%d", r.K), report.Number(r.Recall, 4), report.Number(r.NDCG, 4), report.Number(r.MRR, 4)))
	}
	return t
}
