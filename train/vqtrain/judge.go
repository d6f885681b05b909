package vqtrain

import (
	"context"
	"fmt"
	"os"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/weights"
)

// mostJudges bounds the validation items that judge a start.
var mostJudges = map[dataset.Kind]float64{dataset.Vectors: 2048, dataset.Pictures: 128}

// judged sets validation items aside if training starts as a tokenizer that is of use: a trained one, or the linear path
// of pictures. They are not trained on, and decide at the end whether training was worth it. With a perceptual or an
// adversarial loss their squared error would be no judge.
func (f *fit) judged(c Config) Source {
	s, t := f.source, c.Train
	started := (s.From != nil || c.Model.Pictures() && c.Model.Image.Linear) && !t.KeepStart
	if f.Trials == "" || !started || t.Perceptual > 0 || t.Adversarial.Weight > 0 || t.Validation == 0 || s.Train.Len() < 2 {
		return s
	}
	s.Train, s.Validation = s.Train.Divide(min(t.Validation, mostJudges[c.Model.Modality().Kind()]/float64(s.Train.Len())), c.Seed)
	return s
}

// validationError scores variables on the validation rows.
func (t *Trainer) validationError(ctx context.Context, set weights.Set) (float64, error) {
	if err := t.renew(set); err != nil {
		return 0, err
	}
	result, _, err := t.runtime.Evaluate(ctx, t.source.Set, t.source.Validation, tokenizer.Options{}, nil)
	if err != nil {
		return 0, err
	}
	return result.Summary().Criterion, nil
}

// measureOwnStart notes the validation error of the start.
func (t *Trainer) measureOwnStart(ctx context.Context) error {
	if t.source.Validation.Len() == 0 || t.Step() > 0 || t.state.Start != nil {
		return nil
	}
	set, err := t.loop.Variables(true)
	if err != nil {
		return err
	}
	before, err := t.validationError(ctx, set)
	if err == nil {
		t.state.Start = &before
	}
	return err
}

// judge compares the result of a run with its start and, if validation rows prefer the start, returns that.
func (f *fit) judge(ctx context.Context, t *Trainer, c Config, set weights.Set) (weights.Set, *tokenizer.Choice, error) {
	if t.state.Start == nil {
		return set, nil, nil
	}
	after, err := t.validationError(ctx, set)
	if before := *t.state.Start; err != nil || after < before {
		return set, nil, err
	}
	choice := &tokenizer.Choice{Rows: t.source.Validation.Len(), Start: *t.state.Start, Error: *t.state.Start, Kept: true,
		Settings: []string{keepsStart}, Trials: []tokenizer.Trial{{Steps: t.Step(), Error: after, Seconds: t.Seconds()}}}
	if c, err = c.with(choice.Settings); err != nil {
		return nil, nil, err
	}
	dir, err := "", os.MkdirAll(f.Trials, 0o755)
	if err == nil {
		dir, err = os.MkdirTemp(f.Trials, "start")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("going back to the start: %w", err)
	}
	defer os.RemoveAll(dir)
	again, err := f.run(ctx, c, t.source, Options{Dir: dir, Data: f.Data})
	if err != nil {
		return nil, nil, err
	}
	defer again.Close()
	set, err = again.Run(ctx)
	return set, choice, err
}
