package vqtrain

import (
	"fmt"
	"math"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/vq"
)

// window counts how often each code was chosen lately. It holds two buckets, a
// full one and one being filled, so that statistics never rest on a single
// batch and old choices are forgotten.
type window struct {
	layout   vq.Layout
	target   int64 // tokens a position needs before a bucket is full
	previous [][]int64
	current  [][]int64
	filled   []int64 // tokens of each position in the current bucket
	settled  []int64 // and in the previous one
}

func newWindow(layout vq.Layout, perCode int) *window {
	w := &window{layout: layout}
	largest := 0
	for _, k := range layout.Vocab {
		w.previous = append(w.previous, make([]int64, k))
		w.current = append(w.current, make([]int64, k))
		largest = max(largest, k)
	}
	w.filled = make([]int64, len(layout.Vocab))
	w.settled = make([]int64, len(layout.Vocab))
	w.target = int64(max(1, perCode)) * int64(largest)
	return w
}

// add counts a batch of codes [n,positions]; only the leading levels of each
// part were in use.
func (w *window) add(codes []int32, levels int) {
	positions := w.layout.Positions()
	for at, code := range codes {
		position := at % positions
		if position%w.layout.Levels < levels {
			w.current[position][code]++
			w.filled[position]++
		}
	}
	for position, n := range w.filled {
		if n >= w.target {
			w.previous[position], w.current[position] = w.current[position], w.previous[position]
			clear(w.current[position])
			w.settled[position], w.filled[position] = n, 0
		}
	}
}

// tokens is the number of choices behind a position's statistics.
func (w *window) tokens(position int) int64 { return w.settled[position] + w.filled[position] }

// count is how often a code of a position was chosen.
func (w *window) count(position, code int) int64 {
	return w.previous[position][code] + w.current[position][code]
}

// dead lists the codes of the codebook behind the given positions that were
// chosen less than threshold/K of the time; none while the window is too young
// to tell.
func (w *window) dead(threshold float64, positions ...int) []int {
	if w.settled[positions[0]] == 0 {
		return nil
	}
	k, tokens := w.layout.Vocab[positions[0]], int64(0)
	counts := make([]int64, k)
	for _, position := range positions {
		tokens += w.tokens(position)
		for code := range counts {
			counts[code] += w.count(position, code)
		}
	}
	limit := threshold * float64(tokens) / float64(k)
	var dead []int
	for code, n := range counts {
		if float64(n) < limit || n == 0 {
			dead = append(dead, code)
		}
	}
	return dead
}

// forget starts a position's window anew, after its codes were moved.
func (w *window) forget(position int) {
	clear(w.previous[position])
	clear(w.current[position])
	w.filled[position], w.settled[position] = 0, 0
}

// usage summarises the window: utilization, perplexity and entropy by position.
func (w *window) usage() usageStats {
	var s usageStats
	for position, k := range w.layout.Vocab {
		counts := make([]int64, k)
		for code := range counts {
			counts[code] = w.count(position, code)
		}
		used, entropy := 0, 0.0
		total := float64(w.tokens(position))
		for _, n := range counts {
			if n > 0 {
				used++
				p := float64(n) / total
				entropy -= p * math.Log(p)
			}
		}
		s.Utilization = append(s.Utilization, float64(used)/float64(k))
		s.Perplexity = append(s.Perplexity, math.Exp(entropy))
		s.Entropy = append(s.Entropy, entropy/math.Ln2)
	}
	return s
}

// usageStats are per code position.
type usageStats struct {
	Utilization []float64
	Perplexity  []float64
	Entropy     []float64 // bits
}

func mean(x []float64) float64 {
	m, _ := eval.MeanStd(x)
	return m
}

// arrays are the window's counts by name.
func (w *window) arrays() map[string][]int64 {
	all := map[string][]int64{"filled": w.filled, "settled": w.settled}
	for i := range w.current {
		all[fmt.Sprintf("current%d", i)], all[fmt.Sprintf("previous%d", i)] = w.current[i], w.previous[i]
	}
	return all
}
