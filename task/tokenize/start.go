package tokenize

import (
	"context"
	"fmt"
	"math"
	"path/filepath"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/version"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// storeStart writes the classical start as a tokenizer that can be used while training goes on.
func (t *training) storeStart(ctx context.Context, s vqtrain.Start) error {
	defer s.Runtime.Close()
	dir := filepath.Join(t.Output, bundle.StartDir)
	if err := output.MakeDir(dir); err != nil {
		return err
	}
	m := s.Runtime.Tokenizer()
	train, usage, err := s.Runtime.Evaluate(ctx, t.data.Set, t.data.Train.Head(scoredItems[m.Modality().Kind()]), tokenizer.Options{}, nil)
	if err != nil {
		return err
	}
	b := &bundle.Bundle{Tokenizer: m, Weights: s.Weights, Codebooks: s.Runtime.Codebooks(), Manifest: bundle.Manifest{
		Head: artifact.Provenance(version.CreatedBy(), t.Command), Data: t.describeData(),
		Training: bundle.Training{Steps: s.Config.Train.Steps, Backend: t.Backend}, Metrics: bundle.NewMetrics(s.Held, train)}}
	b.Usage = histograms(usage, len(b.Codebooks))
	if err := b.SetConfig(s.Config); err != nil {
		return err
	}
	if err := bundle.Write(dir, b); err != nil {
		return err
	}
	score := ""
	if held, ok := s.Held.(*tokenizer.Scores); ok && !math.IsInf(held.RelativeError, 0) {
		score = ", with a held-out error of " + RelativeError(held)
	}
	t.watch.Remark("%s is usable already%s; training goes on", dir, score)
	return nil
}

func keptSentence(c tokenizer.Choice) string {
	if len(c.Trials) == 0 {
		return "there are too few rows to judge training by: the classical start is kept"
	}
	least := c.Trials[0]
	for _, trial := range c.Trials {
		if trial.Error < least.Error {
			least = trial
		}
	}
	which := ""
	if start, number := c.BestStart(); number > 0 {
		which = fmt.Sprintf(", additive codes (%s)", tokenizer.SettingsText(start.Settings))
	}
	return fmt.Sprintf("training does not improve on the start (error of validation rows %s, at best %s): the start is kept%s",
		errorText(c.Start), errorText(least.Error), which)
}

// errorText writes an error of validation rows. Training that diverged, or codes that wait for a warm-up, have none.
func errorText(x float64) string {
	if x == math.MaxFloat64 {
		return "n/a"
	}
	return report.Number(x, 4)
}

// choiceTable shows the trials of a choice.
func choiceTable(c tokenizer.Choice) report.Table {
	t := report.Table{Title: "Choice of settings", Columns: []report.Column{{Name: "settings"}, {Name: "steps", Align: report.Right},
		{Name: "error", Align: report.Right, Note: "of validation rows"},
		{Name: "seconds", Align: report.Right}}}
	if len(c.Starts) < 2 { // tokenizers of earlier versions name none
		t.Rows = append(t.Rows, report.Cells("start", "0", errorText(c.Start), ""))
	} else {
		for _, s := range c.Starts {
			t.Rows = append(t.Rows, report.Cells("start, "+tokenizer.SettingsText(s.Settings), "0", errorText(s.Error), report.Number(s.Seconds, 3)))
		}
	}
	for _, trial := range c.Trials {
		t.Rows = append(t.Rows, report.Cells(tokenizer.SettingsText(trial.Settings), report.Count(trial.Steps), errorText(trial.Error),
			report.Number(trial.Seconds, 3)))
	}
	chosen := tokenizer.SettingsText(c.Settings)
	if c.Kept {
		chosen = "the start, which training did not improve on"
	}
	t.Caption = fmt.Sprintf("Chosen by %s that the trials did not see: %s.", report.Counted(c.Rows, "validation row"), chosen)
	if !c.Kept {
		t.Caption += " The tokenizer was then trained on all training rows."
	}
	return t
}
