package vqtrain

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// Latents drawn for placing the first codes when the configuration leaves it
// open: this many a code, between these bounds.
const (
	startPerCode = 64
	startLeast   = 16384
	startMost    = 1 << 20
	startBytes   = 128 << 20 // of latents; clustering holds a few copies
)

// start places the codes on latents of the network as it is now, and begins the
// optimizer anew, so that all parameters count their steps from here.
func (t *Trainer) start(ctx context.Context) error {
	t.loop.Status("placing the codes")
	latents, n, err := t.sampleLatents(ctx, t.startRows())
	if err != nil {
		return fmt.Errorf("placing the first codes: %w", err)
	}
	q := t.model.Quantizer
	set, err := q.Init(vq.Latents{Rows: latents, N: n, Dim: t.model.Dim()}, weights.Rand(t.config.Seed, "codes"))
	if err != nil {
		return fmt.Errorf("placing the first codes: %w", err)
	}
	all, err := t.loop.Variables()
	if err != nil {
		return err
	}
	if err := t.loop.Restart(all.Merge(vq.Prefix, set)); err != nil {
		return err
	}
	t.state.Started = true
	return t.listCached()
}

// warmup is the number of steps before codes are placed: none when there is no
// network to warm up.
func (t *Trainer) warmup() int {
	if t.model.Identity() {
		return 0
	}
	return int(t.config.Quantizer.Start.Warmup * float64(t.config.Train.Steps))
}

// startRows is the number of latents the first codes are placed on.
func (t *Trainer) startRows() int {
	q := t.config.Quantizer
	if q.Start.Sample > 0 {
		return q.Start.Sample
	}
	n := min(max(startPerCode*q.Codes, startLeast), startMost)
	return max(q.Codes, min(n, startBytes/(4*t.model.Dim())))
}

// sampleLatents encodes a seeded sample of training examples with about n
// latents, or all if there are fewer, and returns the latents and their number.
func (t *Trainer) sampleLatents(ctx context.Context, n int) ([]float32, int, error) {
	tokens := t.model.Tokens()
	examples := min((n+tokens-1)/tokens, t.source.Train.Len())
	order := dataset.NewPermutation(t.source.Train.Len(), t.config.Seed^0x9e3779b97f4a7c15)
	encoder, err := t.encoder()
	if err != nil {
		return nil, 0, err
	}
	latents := make([]float32, 0, examples*tokens*t.model.Dim())
	rows := make([]int, 0, max(64, 4*tokenizer.BlockRows/tokens))
	for start := 0; start < examples; start += cap(rows) {
		rows = rows[:0]
		for i := start; i < min(examples, start+cap(rows)); i++ {
			rows = append(rows, t.source.Train.At(order.At(i)))
		}
		z, err := t.source.latents(ctx, encoder, rows)
		if err != nil {
			return nil, 0, err
		}
		latents = append(latents, z...)
	}
	return latents, len(latents) / t.model.Dim(), nil
}
