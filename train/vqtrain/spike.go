package vqtrain

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// Bounds of the spike guard.
const (
	spikeFactor = 10  // reconstruction error above this multiple of its mean is an anomaly
	spikeAfter  = 200 // steps before spikes are judged
	thrownLimit = 10  // codes longer than this multiple of the median were thrown off the latents
)

// guard notices a spike of the error and calms it.
func (t *Trainer) guard(s *train.Step) error {
	if !s.Kept {
		return nil
	}
	reconstruction, taken := float64(s.Scalars[0]), t.loop.Updates()
	if t.state.Smooth == 0 || taken <= 1 {
		t.state.Smooth = reconstruction
	}
	if taken > spikeAfter && reconstruction > spikeFactor*t.state.Smooth {
		event := []string{fmt.Sprintf("reconstruction error %.3g is over %d times its mean", reconstruction, spikeFactor)}
		if t.state.Started {
			done, err := t.calm(s)
			if err != nil {
				return err
			}
			event = append(event, done...)
		}
		s.Event = strings.Join(event, "; ")
	}
	t.state.Smooth += 0.02 * (reconstruction - t.state.Smooth)
	return nil
}

// calm puts right what can make the error jump, and says what it was: feature maps that
// ran away are scaled back, codes that were thrown off the latents are reset where
// resets are configured, and cached codebooks are rebuilt.
func (t *Trainer) calm(s *train.Step) (done []string, err error) {
	set, err := t.bank.Read(vq.Prefix)
	if err != nil {
		return nil, err
	}
	said := func() { // moves the event of a part to done
		if s.Event != "" {
			done, s.Event = append(done, s.Event), ""
		}
	}
	if err := t.watchFeatures(s, set); err != nil {
		return nil, err
	}
	said()
	if resets := t.config.Quantizer.Resets; resets.Every > 0 && !t.finishing(s.Step) {
		books, err := t.currentBooks()
		if err != nil {
			return nil, err
		}
		before := t.state.Resets
		if err := t.reset(s, t.movable(func(slots []int) []int { return thrown(books[slots[0]]) })); err != nil {
			return nil, err
		}
		if moved := t.state.Resets - before; moved > 0 {
			done = append(done, fmt.Sprintf("%d codes far from all others were reset", moved))
		}
		said()
	}
	if t.config.Quantizer.Cache.Period > 1 {
		done = append(done, "the cached codes were rebuilt")
		return done, t.refreshCache(false)
	}
	return done, nil
}

// thrown lists the codes [K,d] that are much longer than most.
func thrown(book *weights.Array) (codes []int) {
	lengths := make([]float64, book.Shape[0])
	for i := range lengths {
		sum := 0.0
		for _, x := range book.Row(i) {
			sum += float64(x) * float64(x)
		}
		lengths[i] = math.Sqrt(sum)
	}
	median := slices.Sorted(slices.Values(lengths))[len(lengths)/2]
	for i, length := range lengths {
		if length > thrownLimit*median || math.IsNaN(length) {
			codes = append(codes, i)
		}
	}
	return codes
}
