package vqtrain

import (
	"fmt"
	"math"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// window counts how often each code was chosen lately. It holds two buckets, a
// full one and one being filled, so that statistics never rest on a single
// batch and old choices are forgotten.
type window struct {
	layout   vq.Layout
	target   int64 // tokens a slot needs before a bucket is full
	Previous [][]int64
	Current  [][]int64
	Filled   []int64 // tokens of each slot (see [vq.Layout]) in the current bucket
	Settled  []int64 // and in the previous one

	// By batches: in how many since the last scan each code was chosen, and how many
	// there were. Nil by tokens.
	Chosen  [][]int64 `json:",omitempty"`
	Batches []int64   `json:",omitempty"`
}

func newWindow(layout vq.Layout, c vq.Resets) *window {
	perCode := c.Window
	w := &window{layout: layout, Filled: make([]int64, layout.Slots()), Settled: make([]int64, layout.Slots())}
	for _, k := range layout.SlotVocabOf(0) {
		w.Previous, w.Current = append(w.Previous, make([]int64, k)), append(w.Current, make([]int64, k))
		w.target = max(w.target, int64(max(1, perCode))*int64(k))
		if c.Rule == vq.RuleBatches {
			w.Chosen, w.Batches = append(w.Chosen, make([]int64, k)), append(w.Batches, 0)
		}
	}
	return w
}

// add counts a batch of codes [n,positions] of whole items; only the leading levels
// of each part were in use.
func (w *window) add(codes []int32, levels int) {
	positions := w.layout.Positions()
	w.addBatch(codes, levels)
	for at, code := range codes {
		position := at % positions
		if position%w.layout.Levels < levels {
			slot := w.layout.PhaseOf(at/positions)*positions + position
			w.Current[slot][code]++
			w.Filled[slot]++
		}
	}
	for slot, n := range w.Filled {
		if n >= w.target {
			w.Previous[slot], w.Current[slot] = w.Current[slot], w.Previous[slot]
			clear(w.Current[slot])
			w.Settled[slot], w.Filled[slot] = n, 0
		}
	}
}

// addBatch counts the codes that a batch chose.
func (w *window) addBatch(codes []int32, levels int) {
	if w.Chosen == nil {
		return
	}
	positions := w.layout.Positions()
	seen := make([]map[int32]bool, len(w.Chosen))
	for at, code := range codes {
		position := at % positions
		slot := w.layout.PhaseOf(at/positions)*positions + position
		if position%w.layout.Levels >= levels {
			continue
		}
		if seen[slot] == nil {
			seen[slot] = map[int32]bool{}
			w.Batches[slot]++
		}
		if !seen[slot][code] {
			seen[slot][code] = true
			w.Chosen[slot][code]++
		}
	}
}

// unused lists the codes of the codebook of the given slots that were chosen in less
// than a share of the batches since the last scan, in each of the slots.
func (w *window) unused(share float64, slots ...int) (unused []int) {
	for code := range w.Chosen[slots[0]] {
		used := false
		for _, slot := range slots {
			used = used || w.Batches[slot] == 0 || float64(w.Chosen[slot][code]) >= share*float64(w.Batches[slot])
		}
		if !used {
			unused = append(unused, code)
		}
	}
	return unused
}

// scanned begins the count of batches anew.
func (w *window) scanned() {
	for slot := range w.Chosen {
		clear(w.Chosen[slot])
		w.Batches[slot] = 0
	}
}

// counts returns how often each code of a codebook was chosen, in all slots that
// use it.
func (w *window) counts(slots ...int) []int64 {
	counts := make([]int64, len(w.Current[slots[0]]))
	for _, slot := range slots {
		for code := range counts {
			counts[code] += w.Previous[slot][code] + w.Current[slot][code]
		}
	}
	return counts
}

// dead lists the codes of the codebook of the given slots that were chosen
// less than threshold/K of the time; none while the window is too young to tell.
func (w *window) dead(threshold float64, slots ...int) (dead []int) {
	if w.Settled[slots[0]] == 0 {
		return nil
	}
	counts, tokens := w.counts(slots...), int64(0)
	for _, slot := range slots {
		tokens += w.Settled[slot] + w.Filled[slot]
	}
	limit := threshold * float64(tokens) / float64(len(counts))
	for code, n := range counts {
		if float64(n) < limit || n == 0 {
			dead = append(dead, code)
		}
	}
	return dead
}

// forget starts a slot's window anew, after its codes were moved.
func (w *window) forget(slot int) {
	clear(w.Previous[slot])
	clear(w.Current[slot])
	w.Filled[slot], w.Settled[slot] = 0, 0
}

// usage describes the window's codes by slot.
func (w *window) usage() (stats []eval.UsageStats) {
	for slot := range w.Current {
		stats = append(stats, eval.StatsOf(w.counts(slot)))
	}
	return stats
}

// measureUsage records how the codes of the window were used.
func (t *Trainer) measureUsage() {
	r, levels, bits := &t.record, &LevelRecord{}, []float64{}
	for _, stats := range t.state.Window.usage() {
		levels.Utilization = append(levels.Utilization, stats.Utilization)
		levels.Perplexity = append(levels.Perplexity, stats.Perplexity)
		bits = append(bits, stats.EntropyBits)
	}
	r.Levels, r.Utilization, r.Perplexity, r.EntropyBits = levels, mean(levels.Utilization), mean(levels.Perplexity), mean(bits)
	r.DeadRate = 1 - r.Utilization
}

func mean(x []float64) float64 {
	m, _ := eval.MeanStd(x)
	return m
}

// measure records the norms of usable codes, how far they moved and what the transform
// does to their distances.
func (t *Trainer) measure(s *train.Step) error {
	books, err := t.currentBooks()
	if err != nil {
		return fmt.Errorf("measuring the codebooks: %w", err)
	}
	least, largest := math.Inf(1), 0.0
	for _, book := range books {
		for i := range book.Shape[0] {
			sum := 0.0
			for _, x := range book.Row(i) {
				sum += float64(x) * float64(x)
			}
			least, largest = math.Min(least, math.Sqrt(sum)), math.Max(largest, math.Sqrt(sum))
		}
	}
	t.record.RowNormMin, t.record.RowNormMax = train.Finite(least), train.Finite(largest)
	if t.record.Drift = t.state.Drift; t.previous != nil {
		t.record.Drift = train.Finite(driftOf(t.previous, books))
	}
	set, err := t.bank.Read(vq.Prefix)
	if err != nil {
		return err
	}
	if err := t.measureDistortion(set, books); err != nil {
		return err
	}
	return t.watchFeatures(s, set)
}

// featureLimit is the spectral norm beyond which W is scaled back even without a
// configured bound: codes that far from their raw vectors are a runaway.
const featureLimit = 50

// watchFeatures measures every W and scales a runaway back.
func (t *Trainer) watchFeatures(s *train.Step, set weights.Set) error {
	largest, least, clipped := 0.0, math.Inf(1), weights.Set{}
	for _, p := range set.Paths() {
		w := set[p]
		if weights.GroupOf(p) != weights.Feature || len(w.Shape) != 2 || t.frozen(vq.Prefix+"/"+p) {
			continue
		}
		norm, smallest := eval.SingularRange(w.Data, w.Shape[0])
		largest, least = math.Max(largest, norm), math.Min(least, smallest)
		if norm > featureLimit {
			for i := range w.Data {
				w.Data[i] *= float32(featureLimit / norm)
			}
			clipped[p] = w
			s.Event = fmt.Sprintf("|W| of %s reached %.3g and was scaled back to %d", p, norm, featureLimit)
		}
	}
	if math.IsInf(least, 1) {
		least = 0
	}
	t.record.FeatureNorm, t.record.FeatureLeast = train.Finite(largest), train.Finite(least)
	return t.bank.Install(weights.Set{}.Merge(vq.Prefix, clipped))
}
