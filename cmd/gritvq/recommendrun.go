package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/fit"
	"github.com/gritvq/gritvq/interactions"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/learn"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/semid"
	"github.com/gritvq/gritvq/task/recommender"
)

// settings assembles the configuration: defaults < file < flags < --set.
func (o recommendTrainOptions) settings() (recommender.Config, error) {
	c := recommender.Default()
	if o.config != "" {
		document, err := os.ReadFile(o.config)
		if err != nil {
			return c, usagef("cannot read the configuration: %w", err)
		}
		if err := config.Decode(document, &c); err != nil {
			return c, usagef("%s: %w", o.config, err)
		}
	}
	if o.given("steps") {
		c.Train.Steps = o.steps
	}
	if o.given("batch") {
		c.Train.Batch = o.batch
	}
	if o.given("seed") {
		c.Train.Seed = o.seed
	}
	for _, assignment := range o.sets {
		if err := config.Set(&c, assignment); err != nil {
			return c, usagef("--set %s: %w", assignment, err)
		}
	}
	// A short run evaluates and warms up in proportion.
	if preset := recommender.Default().Train; c.Train.Evaluate == preset.Evaluate {
		c.Train.Evaluate = max(1, min(c.Train.Evaluate, c.Train.Steps/4))
	}
	if preset := recommender.Default().Train; c.Train.Schedule.Warmup == preset.Schedule.Warmup {
		c.Train.Schedule.Warmup = min(c.Train.Schedule.Warmup, max(1, c.Train.Steps/10))
	}
	if err := c.Validate(); err != nil {
		return c, usageError{err}
	}
	return c, nil
}

// openLog reads a log and says what it holds.
func openLog(ctx context.Context, s *streams, path string) (*interactions.Log, error) {
	log, err := interactions.Open(ctx, path, interactions.Options{})
	if err != nil {
		return nil, err
	}
	stats := log.Stats()
	s.remark("%s: %s users, %s items, %s interactions, %s a user", path, report.Count(stats.Users), report.Count(stats.Items), report.Count(stats.Interactions), report.Number(stats.MeanLength, 3))
	return log, nil
}

func runRecommendTrain(ctx context.Context, s *streams, o recommendTrainOptions) error {
	c, err := o.settings()
	if err != nil {
		return err
	}
	if err := useWorkers(o.workers); err != nil {
		return err
	}
	manifest, checkpoint := filepath.Join(o.output, recommender.ManifestFile), filepath.Join(o.output, learn.CheckpointFile)
	switch {
	case o.force:
	case present(manifest):
		return fmt.Errorf("%s holds a finished recommender; choose another directory, or --force to replace it", o.output)
	case present(checkpoint) && !o.resume:
		return fmt.Errorf("%s holds an unfinished run; --resume continues it, --force starts over", o.output)
	}
	table, err := semid.Load(o.ids)
	if err != nil {
		return err
	}
	log, err := openLog(ctx, s, o.log)
	if err != nil {
		return err
	}
	d, err := recommender.NewDataset(log, table)
	if err != nil {
		return err
	}
	backend, err := openEngine(o.backend)
	if err != nil {
		return err
	}
	if err := makeDirectory(o.output); err != nil {
		return err
	}
	if o.force {
		for _, path := range []string{manifest, checkpoint} {
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	s.remark("training on %s examples: IDs of %d codes, %d + %d layers of width %d", report.Count(d.Examples()), table.Width(), c.Model.Layers, c.Model.Layers, c.Model.Width)
	begun := time.Now()
	watch := newLearnProgress(s, c.Train.Steps)
	stats := log.Stats()
	fingerprint := fmt.Sprintf("%s %d %d %d ids %s %d", filepath.Base(o.log), stats.Users, stats.Items, stats.Interactions, table.Tokenizer(), table.Version())
	m, set, err := recommender.Train(ctx, backend, d, table.Vocab(), c, fingerprint, o.output, o.resume && !o.force, watch.observer())
	watch.done()
	if errors.Is(err, learn.ErrInterrupted) {
		return fmt.Errorf("%w; repeat the command with --resume to continue", fit.ErrInterrupted)
	}
	if err != nil {
		return err
	}
	line := s.line(0)
	validation, err := recommender.Rank(ctx, backend, m, set, d, recommender.Validation, recommender.RankOptions{Beam: 20, Progress: func(done, total int) {
		line.Update(int64(done), fmt.Sprintf("of %d users scored", total))
	}})
	line.Done()
	if err != nil {
		return err
	}
	r := &recommender.Recommender{Config: c, Model: m, Weights: set, Table: table, Manifest: recommender.Manifest{
		CreatedBy: "gritvq " + version(), Created: time.Now().UTC().Truncate(time.Second), Command: s.command, Data: baseName(o.log),
		Users: stats.Users, Items: table.Len(), Steps: c.Train.Steps, Seconds: time.Since(begun).Seconds(), Validation: validation.Means(5, 10, 20)}}
	if err := copyItems(o.ids, filepath.Join(o.output, idsItems)); err != nil {
		return err
	}
	if err := r.Save(o.output); err != nil {
		return err
	}
	if err := os.Remove(checkpoint); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if o.json {
		return s.writeJSON(r.Manifest)
	}
	if err := rankingTable("validation", r.Manifest.Validation).Text(s.out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "\ntime:        %s\nrecommender: %s\n", report.Duration(time.Since(begun)), o.output)
	return err
}

// present says whether there is a file.
func present(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// copyItems keeps titles beside the recommender.
func copyItems(ids, to string) error {
	content, err := os.ReadFile(filepath.Join(ids, idsItems))
	if err != nil {
		return fmt.Errorf("reading the titles: %w", err)
	}
	return atomicfile.Write(to, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// rankingTable shows scores by cutoff.
func rankingTable(name string, scores []eval.RankingScores) report.Table {
	t := report.Table{Columns: []report.Column{{Name: name}, {Name: "recall", Align: report.Right}, {Name: "NDCG", Align: report.Right}, {Name: "MRR", Align: report.Right}}}
	for _, r := range scores {
		t.Rows = append(t.Rows, report.Cells(fmt.Sprintf("@%d", r.K), report.Number(r.Recall, 4), report.Number(r.NDCG, 4), report.Number(r.MRR, 4)))
	}
	return t
}
