package vqtrain

import (
	"math"
	"slices"
	"testing"

	"github.com/gritvq/gritvq/vq"
)

func layout(parts, levels, k int) vq.Layout {
	l := vq.Layout{Dim: parts, Parts: parts, Levels: levels}
	for range parts * levels {
		l.Vocab = append(l.Vocab, k)
	}
	return l
}

// A bucket holds perCode tokens a code; statistics rest on the full bucket and
// the one being filled, and older choices are forgotten.
func TestWindowForgetsOldChoices(t *testing.T) {
	w := newWindow(layout(1, 1, 2), vq.Resets{Window: 2}) // 4 tokens a bucket
	if w.dead(0.5, 0) != nil {
		t.Error("an empty window knows dead codes")
	}
	w.add([]int32{0, 0, 0}, 1)
	if w.dead(0.5, 0) != nil {
		t.Error("a window that never filled knows dead codes")
	}
	w.add([]int32{0}, 1)
	if got := w.dead(0.5, 0); !slices.Equal(got, []int{1}) {
		t.Errorf("dead codes %v, want [1]", got)
	}
	w.add([]int32{1, 1}, 1) // 2 of 6 tokens: above half of an equal share
	if got := w.dead(0.5, 0); got != nil {
		t.Errorf("dead codes %v after code 1 was chosen", got)
	}
	w.add([]int32{1, 1}, 1) // second bucket full, the first is forgotten
	if got := w.dead(0.5, 0); !slices.Equal(got, []int{0}) {
		t.Errorf("dead codes %v, want [0]", got)
	}
	if w.Settled[0]+w.Filled[0] != 4 || w.counts(0)[1] != 4 {
		t.Errorf("%d tokens, %d of them code 1", w.Settled[0]+w.Filled[0], w.counts(0)[1])
	}
	w.forget(0)
	if w.dead(0.5, 0) != nil || w.Settled[0]+w.Filled[0] != 0 {
		t.Error("a forgotten window remembers")
	}
}

func TestWindowThreshold(t *testing.T) {
	w := newWindow(layout(1, 1, 4), vq.Resets{Window: 1})
	w.add([]int32{0, 0, 0, 0, 1, 1, 1, 2}, 1)
	// An equal share is 2 of 8 tokens.
	for threshold, want := range map[float64][]int{0: {3}, 0.4: {3}, 0.6: {2, 3}, 1.6: {1, 2, 3}} {
		if got := w.dead(threshold, 0); !slices.Equal(got, want) {
			t.Errorf("threshold %g: dead codes %v, want %v", threshold, got, want)
		}
	}
}

// Codes arrive part after part; levels dropped in a step are not counted, in any
// part.
func TestWindowCountsActiveLevels(t *testing.T) {
	w := newWindow(layout(2, 2, 3), vq.Resets{Window: 1})
	w.add([]int32{0, 1, 2, 0, 0, 1, 2, 0}, 1)
	for position, want := range []int64{2, 0, 2, 0} {
		if got := w.Settled[position] + w.Filled[position]; got != want {
			t.Errorf("position %d has %d tokens, want %d", position, got, want)
		}
	}
	if w.counts(2)[2] != 2 {
		t.Error("the second part's codes went elsewhere")
	}
	// With a shared codebook a code is dead only if no level uses it.
	w = newWindow(layout(1, 2, 3), vq.Resets{Window: 1})
	w.add([]int32{0, 1, 0, 1, 0, 1}, 2)
	if got := w.dead(0.1, 0, 1); !slices.Equal(got, []int{2}) {
		t.Errorf("dead codes %v of the shared codebook, want [2]", got)
	}
}

func TestWindowUsage(t *testing.T) {
	w := newWindow(layout(1, 2, 4), vq.Resets{Window: 10})
	w.add([]int32{0, 3, 1, 3, 0, 3, 1, 3}, 2)
	got := w.usage()
	for i, want := range []struct{ utilization, perplexity, bits float64 }{{0.5, 2, 1}, {0.25, 1, 0}} {
		if got[i].Utilization != want.utilization || math.Abs(got[i].Perplexity-want.perplexity) > 1e-12 ||
			math.Abs(got[i].EntropyBits-want.bits) > 1e-12 {
			t.Errorf("position %d: %+v, want %+v", i, got[i], want)
		}
	}
}

// By batches a code is dead if too few of the batches since the last scan chose it, however
// often they did.
func TestWindowByBatches(t *testing.T) {
	w := newWindow(layout(1, 2, 3), vq.Resets{Window: 1, Rule: vq.RuleBatches})
	if w.unused(0.5, 0) != nil {
		t.Error("a window without batches knows dead codes")
	}
	w.add([]int32{0, 2, 0, 2, 1, 2}, 2) // of level 0: 0, 0, 1
	w.add([]int32{0, 1, 0, 1, 0, 1}, 2)
	w.add([]int32{0, 0, 0, 0, 0, 0}, 1) // level 1 was not in use
	if got := w.unused(0.5, 0); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("dead codes %v of level 0, want [1 2]: a third of the batches and none", got)
	}
	if got := w.unused(0.3, 0); !slices.Equal(got, []int{2}) {
		t.Errorf("dead codes %v of level 0, want [2]", got)
	}
	if got := w.unused(0.5, 1); !slices.Equal(got, []int{0}) {
		t.Errorf("dead codes %v of level 1, want [0]: the others were in one of two batches", got)
	}
	if got := w.unused(0.5, 0, 1); got != nil {
		t.Errorf("dead codes %v of a shared codebook, whose every code one level uses", got)
	}
	w.scanned()
	if w.unused(1, 0) != nil {
		t.Error("a scan did not begin the count anew")
	}
}
