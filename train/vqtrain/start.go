package vqtrain

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/internal/parallel"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// sampleSize bounds the number of latents drawn if the configuration does not say:
// a number per code, between a least and a most.
type sampleSize struct{ perCode, least, most, bytes int }

// Clustering and fitting hold a few copies of the sample. More vectors than this
// change the error of a fit by less than 0.1 %.
var (
	startSample = sampleSize{perCode: 64, least: 16384, most: 1 << 20, bytes: 128 << 20}
	fitSample   = sampleSize{perCode: 1024, least: 65536, most: math.MaxInt, bytes: 256 << 20}
)

// sampleCopies are kept of a sample while codes are placed on it: as it is, centred, and what levels leave over.
const sampleCopies = 3

// initNetwork returns the first variables around the quantizer: those of the tokenizer that training starts from, or new ones. A linear
// path is fitted to a seeded sample of the
// training items.
func (t *Trainer) initNetwork(ctx context.Context) (weights.Set, error) {
	if from := t.source.From; from != nil {
		network := weights.Set{}
		for p, a := range from.Weights {
			if !strings.HasPrefix(p, vq.Prefix+"/") {
				network[p] = a
			}
		}
		t.refineFrom(network)
		return network, nil
	}
	sample := tokenizer.Sample{Mean: t.source.Mean, Variance: t.source.Variance}
	if n := min(t.model.SampleItems(), t.source.Train.Len()); n > 0 {
		var err error
		if sample.Items, _, err = t.source.Set.Read(t.sampleRows(n)); err != nil {
			return nil, fmt.Errorf("reading a sample of the training %ss: %w", t.model.Modality().Item(), err)
		}
	}
	return parallel.Until(ctx, func() (weights.Set, error) { return t.model.InitNetwork(t.config.Seed, sample), nil })
}

// refineFrom begins a refining decoder anew where the tokenizer that training starts from has none, or one for the sums of
// fewer levels.
func (t *Trainer) refineFrom(network weights.Set) {
	old := t.source.From.Tokenizer
	if !t.model.Refines() || old.Refines() && old.Spec.Quantizer.Levels == t.config.Quantizer.Levels {
		return
	}
	fresh := t.model.InitNetwork(t.config.Seed, tokenizer.Sample{Mean: t.source.Mean, Variance: t.source.Variance})
	network.Merge(tokenizer.RefinePath, fresh.Sub(tokenizer.RefinePath))
}

// sampleRows draws n training rows.
func (t *Trainer) sampleRows(n int) []int {
	order, rows := dataset.NewPermutation(t.source.Train.Len(), t.config.Seed^0x9e3779b97f4a7c15), make([]int, n)
	for i := range rows {
		rows[i] = t.source.Train.At(order.At(i))
	}
	return rows
}

// start places the codes on latents of the network as it is now, and begins the
// optimizer anew, so that all parameters count their steps from here.
func (t *Trainer) start(ctx context.Context) error {
	t.loop.Status("placing the codes")
	set, err := t.place(ctx)
	if err != nil {
		return fmt.Errorf("placing the first codes: %w", err)
	}
	return t.begin(ctx, set)
}

// place returns the first variables of the quantizer. A classical start is the fit
// of method rq, to the bit: the same sample, seed and iterations.
func (t *Trainer) place(ctx context.Context) (weights.Set, error) {
	if t.source.From != nil {
		return t.continued(ctx)
	}
	size, q, rng := startSample, t.model.Quantizer, weights.Rand(t.config.Seed, "codes")
	classical := t.config.Quantizer.StartsClassical() && t.codes == nil && q.Layout().Phases == 0 // phases fit their own
	if classical {
		size = fitSample
	}
	latents, err := t.sampleLatents(ctx, size)
	if err != nil {
		return nil, err
	}
	latents = latents.With(ctx)
	if p, ok := q.(*vq.Phased); ok && p.Conditioned() {
		fitted, innovations, err := t.fitContext(ctx, p, latents)
		if err != nil {
			return nil, err
		}
		set, err := p.Init(innovations.With(ctx), rng)
		if err != nil {
			return nil, err
		}
		return set.Merge("", fitted), nil
	}
	codes := t.codes
	if classical {
		if codes, err = t.fitStart(ctx, latents); err != nil {
			return nil, err
		}
	}
	if codes != nil {
		if q, err = vq.StartFrom(q, codes); err != nil {
			return nil, err
		}
	}
	return q.Init(latents, rng)
}

// fitStart fits the classical start, once for equal settings and rows of the runs that share the fits.
func (t *Trainer) fitStart(ctx context.Context, latents vq.Latents) ([]*weights.Array, error) {
	key := fmt.Sprintf("%+v on %d rows", t.config.Quantizer.Reference(), t.source.Train.Len())
	if codes := t.fits[key]; codes != nil {
		return codes, nil
	}
	codes, err := vq.FitStart(ctx, t.config.Quantizer, latents, vq.FitOptions{Seed: t.config.Seed})
	if err == nil && t.fits != nil {
		t.fits[key] = codes
	}
	return codes, err
}

// begin adds the variables of the quantizer to the model's and restarts the
// optimizer. A linear path that is untrained is fitted to the codes.
func (t *Trainer) begin(ctx context.Context, quantizer weights.Set) error {
	all, err := t.loop.Variables(false)
	if err != nil {
		return err
	}
	all.Merge(vq.Prefix, quantizer)
	t.state.Started = true
	if t.Step() == 0 && t.source.From == nil {
		err = t.fitSynthesis(ctx, all)
	}
	if err == nil {
		err = t.loop.Restart(all)
	}
	if err != nil {
		t.state.Started = false // a checkpoint may be saved now, and the next run begins again
		return err
	}
	return t.listCached()
}

// fitSynthesis fits the linear path of the decoder in all to quantized training items.
func (t *Trainer) fitSynthesis(ctx context.Context, all weights.Set) error {
	n := min(t.model.SynthesisItems(), t.source.Train.Len())
	if n == 0 {
		return nil
	}
	if err := t.renew(all); err != nil {
		return err
	}
	items, _, err := t.source.Set.Read(t.sampleRows(n))
	if err != nil {
		return err
	}
	quantized, err := t.runtime.Quantized(ctx, items, tokenizer.Options{})
	if err != nil {
		return err
	}
	_, err = parallel.Until(ctx, func() (any, error) { return nil, t.model.FitSynthesis(all, items, quantized, t.config.Seed) })
	return err
}

// warmup is the number of steps before codes are placed: none when there is no
// network to warm up, or when it is good before training: trained, or a linear path.
func (t *Trainer) warmup() int {
	if t.source.From != nil || t.model.Identity() || t.model.Linear() {
		return 0
	}
	return int(t.config.Quantizer.Start.Warmup * float64(t.config.Train.Steps))
}

// sampleLatents encodes a seeded sample of training examples, or all if there are
// fewer.
func (t *Trainer) sampleLatents(ctx context.Context, size sampleSize) (vq.Latents, error) {
	q, tokens, sample := t.config.Quantizer, t.model.Tokens(), vq.Latents{Dim: t.model.Dim()}
	n := q.Start.Sample
	if n == 0 {
		n = max(q.Codes, min(max(size.perCode*q.Codes, size.least), size.most, size.bytes/(4*sample.Dim)))
	}
	items := min((n+tokens-1)/tokens, t.source.Train.Len())
	if err := memory.Check(fmt.Sprintf("a sample of %d latents of %d numbers", items*tokens, sample.Dim),
		items, tokens, sample.Dim, sampleCopies, 4); err != nil {
		return sample, err
	}
	chosen := t.sampleRows(items)
	set, err := t.loop.Variables(false)
	if err == nil {
		err = t.renew(set)
	}
	if err != nil {
		return sample, err
	}
	sample.Rows = make([]float32, 0, len(chosen)*tokens*sample.Dim)
	for rows := range slices.Chunk(chosen, max(64, 4*tokenizer.BlockRows/tokens)) {
		items, _, err := t.source.Set.Read(rows)
		if err != nil {
			return sample, err
		}
		latents, err := t.runtime.Latents(ctx, items)
		if err != nil {
			return sample, err
		}
		sample.Rows = append(sample.Rows, latents...)
	}
	sample.N = len(sample.Rows) / sample.Dim
	return sample, nil
}
