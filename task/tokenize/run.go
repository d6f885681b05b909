package tokenize

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// scoredItems bounds the training items that are scored after training.
var scoredItems = map[dataset.Kind]int{dataset.Vectors: 200_000, dataset.Pictures: 2000}

// entropyPictures bounds the training pictures that the entropy coder learns from.
const entropyPictures = 5000

type outcome struct {
	*vqtrain.Outcome
	metrics  bundle.Metrics
	usage    *eval.Usage // of the scored training rows
	duration time.Duration
}

func (t *training) run(ctx context.Context) (*outcome, error) {
	show := task.WatchTraining(t.watch, t.Config.Train.Steps)
	defer show.Done()
	begun := time.Now()
	fitted, err := vqtrain.Fit(ctx, t.backend, t.Config, t.data.Source, vqtrain.FitOptions{
		Options: vqtrain.Options{Dir: t.Output, Data: t.fingerprint, Resume: t.resume, Watch: t.observe(show)},
		Trials:  filepath.Join(t.Output, bundle.TrialsDir), Codes: t.codes, Reference: t.Reference,
		Started: func(s vqtrain.Start) error { return t.storeStart(ctx, s) },
	})
	if errors.Is(err, train.ErrInterrupted) {
		err = show.Stopped(err)
	}
	if err != nil {
		return nil, err
	}
	show.Done()
	result := &outcome{Outcome: fitted, duration: time.Since(begun)}
	if c := fitted.Choice; c != nil && c.Kept {
		t.watch.Remark("%s", keptSentence(*c))
	}
	if err := t.score(ctx, result); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w while scoring; repeat the command with --resume to finish", train.ErrInterrupted)
		}
		return nil, err
	}
	return result, nil
}

func (t *training) observe(show *task.Training) vqtrain.Observer {
	usage := "" // from the latest record that carries it
	return vqtrain.Observer{Status: show.Status, Step: func(r vqtrain.Record) {
		t.events.step(r)
		if r.Levels != nil {
			usage = fmt.Sprintf("  utilization %s  perplexity %s", report.Percent(r.Utilization, 1), report.Number(r.Perplexity, 4))
		}
		text := "loss " + report.Number(r.Loss, 3) + usage
		if r.Phase != "train" {
			text = r.Phase + "  " + text
		}
		if p := r.Progress; p.Doing != "" {
			text = p.Doing + "  " + text
		}
		show.Of(r.Progress.Total)
		if r.Phase == "start" { // the caller says why it is kept
			r.Event = ""
		}
		show.Step(r.Progress.Done, text, r.Event)
	}}
}

// score evaluates the trained weights on held-out and training items.
func (t *training) score(ctx context.Context, result *outcome) error {
	m := result.Runtime.Tokenizer().Modality()
	rows := t.data.Train.Head(scoredItems[m.Kind()])
	line := t.watch.Line(rows.Len()+t.data.Held.Len(), m.Item()+"s")
	defer line.Done()
	evaluate := func(set dataset.Set, rows dataset.Selection, before int) (tokenizer.Result, *eval.Usage, error) {
		return result.Runtime.Evaluate(ctx, set, rows, tokenizer.Options{Curve: result.Runtime.Curved()}, func(c tokenizer.Coded) error {
			line.Update(int64(before+c.Done), "scored")
			return nil
		})
	}
	train, usage, err := evaluate(t.data.Set, rows, 0)
	if err != nil {
		return err
	}
	var held tokenizer.Result
	if t.data.Held.Len() > 0 {
		if held, _, err = evaluate(t.data.HeldSet, t.data.Held, rows.Len()); err != nil {
			return err
		}
	}
	if err := checkFinite(train, held); err != nil {
		return err
	}
	result.metrics, result.usage = bundle.NewMetrics(held, train), usage
	result.metrics.Reference = result.Reference
	if t.Reference && held != nil && m.Kind() == dataset.Pictures {
		line.Done()
		result.metrics.Reference, err = t.referencePictures(ctx, result.Runtime.Tokenizer())
	}
	return err
}

// checkFinite refuses results, which may be nil, without a squared error.
func checkFinite(results ...tokenizer.Result) error {
	for _, r := range results {
		if r == nil {
			continue
		}
		if mse := r.Summary().MSE; math.IsNaN(mse) || math.IsInf(mse, 0) {
			return errors.New("the trained tokenizer is of no use: its squared error is not a finite number; lower train.optimizer.rate, " +
				"or look for values in the data that are far from all others")
		}
	}
	return nil
}

// store writes the report and the bundle; then the checkpoint can go.
func (t *training) store(ctx context.Context, result *outcome) (*bundle.Bundle, error) {
	m := result.Runtime.Tokenizer()
	manifest := t.manifest(result)
	records, err := vqtrain.ReadLog(filepath.Join(t.Output, bundle.LogFile))
	if err != nil {
		return nil, err
	}
	manifest.Training.Advice = advise(result.Config, records, result.Steps, manifest)
	b := &bundle.Bundle{Manifest: manifest, Tokenizer: m, Weights: result.Weights, Codebooks: result.Runtime.Codebooks()}
	if err := b.SetConfig(result.Config); err != nil {
		return nil, err
	}
	b.Usage = histograms(result.usage, len(b.Codebooks))
	if m.Modality().Kind() == dataset.Pictures {
		var err error
		b.Entropy, err = picture.TrainEntropy(ctx, result.Runtime, t.data.Set, t.data.Train.Head(entropyPictures))
		if err != nil {
			return nil, fmt.Errorf("learning which codes are neighbours: %w", err)
		}
	}
	page, err := t.page(ctx, b, records, result)
	if err != nil {
		return nil, fmt.Errorf("making the report: %w", err)
	}
	if err := page.WriteFile(filepath.Join(t.Output, bundle.ReportFile)); err != nil {
		return nil, err
	}
	if err := bundle.Write(t.Output, b); err != nil {
		return nil, err
	}
	return b, removeWork(t.Output)
}

// histograms counts how often every code of the codebooks was chosen.
func histograms(usage *eval.Usage, slots int) (counts [][]int64) {
	for slot := range slots {
		histogram := usage.Histogram(slot)
		row := make([]int64, len(histogram))
		for i, n := range histogram {
			row[i] = int64(n)
		}
		counts = append(counts, row)
	}
	return counts
}

// removeWork removes what a finished run has no use for.
func removeWork(dir string) error {
	return errors.Join(train.RemoveCheckpoints(dir), bundle.RemoveWork(dir))
}
