package tokenize

import (
	"context"
	"fmt"
	"time"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/tokenizer"
)

// referencePictures measures k-means of patches; nil with too few training pictures for it.
func (t *training) referencePictures(ctx context.Context, m *tokenizer.Tokenizer) (*tokenizer.Reference, error) {
	if t.data.Train.Len()*m.Tokens() < m.Quantizer.Layout().Vocab[0] {
		return nil, nil
	}
	begun := time.Now()
	r, err := picture.MeasureReference(ctx, t.backend, m, t.data.Set, t.data.HeldSet, t.data.Train, t.data.Held, t.Config.Seed)
	if err != nil {
		return nil, fmt.Errorf("measuring k-means of patches: %w", err)
	}
	return &tokenizer.Reference{Name: r.Name, Score: r.Scores.PSNR, Seconds: time.Since(begun).Seconds()}, nil
}

// ReferenceLine compares a tokenizer with its classical reference; empty without one.
func ReferenceLine(m bundle.Manifest) string {
	r := m.Metrics.Reference
	held, _ := m.Metrics.Results()
	if r == nil || held == nil {
		return ""
	}
	own, unit := held.Summary().RelativeError, ""
	if m.Metrics.Pictures != nil {
		own, unit = held.Summary().PSNR, " dB"
	}
	seconds := report.Duration(time.Duration(r.Seconds * float64(time.Second)).Round(100 * time.Millisecond))
	return fmt.Sprintf("%s: %s%s in %s; this tokenizer: %s%s", r.Name, report.Number(r.Score, 4), unit, seconds, report.Number(own, 4), unit)
}
