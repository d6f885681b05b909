package tokenize

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// Bounds of the work after training.
const (
	scoredRows      = 200_000 // training rows that are scored
	scoredPictures  = 2000    // training pictures that are scored
	entropyPictures = 5000    // training pictures that the entropy coder learns from
)

// outcome is a trained and scored tokenizer.
type outcome struct {
	runtime   *tokenizer.Runtime
	weights   weights.Set
	metrics   bundle.Metrics
	usage     *eval.Usage // of the scored training rows
	duration  time.Duration
	firstStep int // above 0 if the run was resumed
}

// run trains to the end and scores the result.
func (t *training) run(ctx context.Context) (*outcome, error) {
	show := task.WatchTraining(t.watch, t.Config.Train.Steps)
	defer show.Done()
	begun := time.Now()
	trainer, err := vqtrain.New(t.backend, t.Config, t.data.Source, t.fingerprint, t.Output, t.resume, observe(show))
	if err != nil {
		return nil, err
	}
	defer trainer.Close()
	m := trainer.Model()
	if t.codes != nil {
		if m.Quantizer, err = vq.StartFrom(m.Quantizer, t.codes); err != nil {
			return nil, err
		}
	}
	result := &outcome{firstStep: trainer.Step()}
	t.started(result.firstStep)
	if result.weights, err = trainer.Run(ctx); err != nil {
		if errors.Is(err, vqtrain.ErrInterrupted) {
			return nil, fmt.Errorf("%w at step %d of %d; repeat the command with --resume to continue", err, trainer.Step(), t.Config.Train.Steps)
		}
		return nil, err
	}
	show.Done()
	result.duration = time.Since(begun)
	if err := t.score(ctx, trainer, result); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w while scoring; repeat the command with --resume to finish", vqtrain.ErrInterrupted)
		}
		return nil, err
	}
	return result, nil
}

// observe shows the records of a run.
func observe(show *task.Training) vqtrain.Observer {
	usage := "" // from the latest record that carries it
	return vqtrain.Observer{Status: show.Status, Step: func(r vqtrain.Record) {
		if r.Levels != nil {
			usage = fmt.Sprintf("  utilization %s  perplexity %s", report.Percent(r.Utilization, 1), report.Number(r.Perplexity, 4))
		}
		text := "loss " + report.Number(r.Loss, 3) + usage
		if r.Phase != "train" {
			text = r.Phase + "  " + text
		}
		show.Step(r.Step, text, r.Event)
	}}
}

// score evaluates the trained weights on held-out and training items.
func (t *training) score(ctx context.Context, trainer *vqtrain.Trainer, result *outcome) (err error) {
	if result.runtime, err = trainer.Runtime(result.weights); err != nil {
		return err
	}
	if t.data.Images != nil {
		return t.scorePictures(ctx, result)
	}
	rows := t.data.Train.Head(scoredRows)
	line := t.watch.Line(rows.Len()+t.data.Held.Len(), "rows")
	defer line.Done()
	scores, usage, err := result.runtime.Evaluate(ctx, t.data.Vectors, rows, tokenizer.Options{}, func(done, _ int) {
		line.Update(int64(done), "scored")
	})
	if err != nil {
		return err
	}
	result.metrics.Train, result.usage = &scores, usage
	if t.data.Held.Len() == 0 {
		return nil
	}
	held, _, err := result.runtime.Evaluate(ctx, t.data.HeldVectors, t.data.Held, tokenizer.Options{}, func(done, _ int) {
		line.Update(int64(rows.Len()+done), "scored")
	})
	result.metrics.Held = &held
	return err
}

func (t *training) scorePictures(ctx context.Context, result *outcome) error {
	rows := t.data.Train.Head(scoredPictures)
	line := t.watch.Line(rows.Len()+t.data.Held.Len(), "pictures")
	defer line.Done()
	done := 0
	count := func(p tokenizer.Pair) error {
		done += len(p.Rows)
		line.Update(int64(done), "scored")
		return nil
	}
	train, usage, err := result.runtime.EvaluatePictures(ctx, t.data.Images, rows, tokenizer.Options{}, count)
	if err != nil {
		return err
	}
	result.metrics.Pictures, result.usage = &bundle.PictureMetrics{Train: &train}, usage
	if t.data.Held.Len() == 0 {
		return nil
	}
	held, _, err := result.runtime.EvaluatePictures(ctx, t.data.HeldImages, t.data.Held, tokenizer.Options{}, count)
	result.metrics.Pictures.Held = &held
	return err
}

// store writes the report and the bundle, then removes the checkpoint.
func (t *training) store(ctx context.Context, result *outcome) (*bundle.Bundle, error) {
	m := result.runtime.Tokenizer()
	b := &bundle.Bundle{Manifest: t.manifest(result), Tokenizer: m, Weights: result.weights, Codebooks: result.runtime.Codebooks()}
	if err := b.SetConfig(t.Config); err != nil {
		return nil, err
	}
	for position := range b.Codebooks {
		histogram := result.usage.Histogram(position)
		counts := make([]int64, len(histogram))
		for i, n := range histogram {
			counts[i] = int64(n)
		}
		b.Usage = append(b.Usage, counts)
	}
	if t.data.Images != nil {
		var err error
		b.Entropy, err = picture.TrainEntropy(ctx, result.runtime, t.data.Images, t.data.Train.Head(entropyPictures), nil)
		if err != nil {
			return nil, fmt.Errorf("learning which codes are neighbours: %w", err)
		}
	}
	page, err := t.page(ctx, b, result)
	if err != nil {
		return nil, fmt.Errorf("making the report: %w", err)
	}
	if err := page.WriteFile(filepath.Join(t.Output, bundle.ReportFile)); err != nil {
		return nil, err
	}
	if err := bundle.Write(t.Output, b); err != nil {
		return nil, err
	}
	return b, vqtrain.RemoveCheckpoints(t.Output)
}
