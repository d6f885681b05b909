package vqtrain

import (
	"fmt"
	"math"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// measureUsage adds what the window says about the codes.
func (t *Trainer) measureUsage(r *Record) {
	usage := t.window.usage()
	r.Utilization, r.Perplexity, r.EntropyBits = mean(usage.Utilization), mean(usage.Perplexity), mean(usage.Entropy)
	r.DeadRate = 1 - r.Utilization
	r.Levels = &LevelRecord{usage.Utilization, usage.Perplexity}
}

// measure adds the norms of usable codes and feature maps.
func (t *Trainer) measure(s *train.Step) error {
	r := &t.record
	books, err := t.currentBooks()
	if err != nil {
		return fmt.Errorf("measuring the codebooks: %w", err)
	}
	r.RowNormMin, r.RowNormMax = math.Inf(1), 0
	for _, book := range books {
		for i := range book.Shape[0] {
			sum := 0.0
			for _, x := range book.Row(i) {
				sum += float64(x) * float64(x)
			}
			r.RowNormMin, r.RowNormMax = math.Min(r.RowNormMin, math.Sqrt(sum)), math.Max(r.RowNormMax, math.Sqrt(sum))
		}
	}
	r.RowNormMin, r.RowNormMax = train.Finite(r.RowNormMin), train.Finite(r.RowNormMax)
	return t.watchFeatures(s)
}

// featureLimit is the spectral norm beyond which W is scaled back even without a
// configured bound: codes that far from their raw vectors are a runaway.
const featureLimit = 50

// watchFeatures measures every W and scales a runaway back.
func (t *Trainer) watchFeatures(s *train.Step) error {
	r := &t.record
	set, err := t.bank.Read(vq.Prefix)
	if err != nil {
		return err
	}
	r.FeatureLeast = math.Inf(1)
	clipped := weights.Set{}
	for _, p := range set.Paths() {
		w := set[p]
		if weights.GroupOf(p) != weights.Feature || len(w.Shape) != 2 {
			continue
		}
		norm, least := eval.SingularRange(w.Data, w.Shape[0])
		r.FeatureNorm = math.Max(r.FeatureNorm, norm)
		r.FeatureLeast = math.Min(r.FeatureLeast, least)
		if norm > featureLimit {
			for i := range w.Data {
				w.Data[i] *= float32(featureLimit / norm)
			}
			clipped[vq.Prefix+"/"+p] = w
			s.Event = fmt.Sprintf("|W| of %s reached %.3g and was scaled back to %d", p, norm, featureLimit)
		}
	}
	if math.IsInf(r.FeatureLeast, 1) {
		r.FeatureLeast = 0
	}
	r.FeatureNorm, r.FeatureLeast = train.Finite(r.FeatureNorm), train.Finite(r.FeatureLeast)
	return t.bank.Install(clipped)
}
