package gpt

import (
	"fmt"
	"math"
	"slices"
)

// Filter says which codes may be drawn, and how often: temperature, then top-k, then
// top-p. Equal logits count as ordered by code, the lower one first.
type Filter struct {
	Temperature float64 // divides the logits; 0 draws the most probable code
	TopK        int     // keeps this many most probable codes; 0 keeps all

	// TopP keeps the smallest set of most probable codes whose mass, of all that top-k
	// left, reaches it: the code that crosses it is kept. 1 keeps all.
	TopP float64
}

// Everything is the filter that changes nothing.
func Everything() Filter { return Filter{Temperature: 1, TopP: 1} }

// Validate reports a filter that cannot work.
func (f Filter) Validate() error {
	switch {
	case !(f.Temperature >= 0) || math.IsInf(f.Temperature, 0):
		return fmt.Errorf("a temperature of %g cannot be used; it must be 0 or above", f.Temperature)
	case f.TopK < 0:
		return fmt.Errorf("top-k of %d cannot be used; it must be 0 (all codes) or above", f.TopK)
	case !(f.TopP > 0 && f.TopP <= 1):
		return fmt.Errorf("top-p of %g cannot be used; it must be above 0 and at most 1", f.TopP)
	}
	return nil
}

// greedy says whether the most probable code is always drawn.
func (f Filter) greedy() bool { return f.Temperature == 0 || f.TopK == 1 }

func (f Filter) limitsCount(codes int) bool { return f.TopK > 0 && f.TopK < codes }

// drawer draws codes on the host, the twin of Filter.draw in the graph.
type drawer struct {
	Filter
	behind []float32 // distance of each logit from the largest
	sorted []float32
	mass   []float64 // of each code; 0 for those left out
}

// draw picks a code by its logits and a uniform number in [0, 1): the first at which
// the running mass of the codes kept exceeds that share of it.
func (d *drawer) draw(logits []float32, uniform float32) int {
	best := 0
	for i, x := range logits {
		if x > logits[best] {
			best = i
		}
	}
	if d.greedy() {
		return best
	}
	n := len(logits)
	d.behind, d.mass = slices.Grow(d.behind[:0], n)[:n], slices.Grow(d.mass[:0], n)[:n]
	for i, x := range logits {
		d.behind[i] = logits[best] - x
		d.mass[i] = d.massOf(d.behind[i])
	}
	if d.limitsCount(n) || d.TopP < 1 {
		d.leaveOut()
	}
	total := 0.0
	for _, x := range d.mass {
		total += x
	}
	target, sum, last := float64(uniform)*total, 0.0, best
	for i, x := range d.mass {
		if x > 0 {
			last = i
		}
		if sum += x; sum > target {
			return i
		}
	}
	return last
}

func (d *drawer) massOf(behind float32) float64 { return math.Exp(-float64(behind) / d.Temperature) }

// leaveOut sets the mass of all codes to 0 but that of those kept.
func (d *drawer) leaveOut() {
	d.sorted = append(d.sorted[:0], d.behind...)
	slices.Sort(d.sorted)
	kept := len(d.sorted)
	if d.limitsCount(kept) {
		kept = d.TopK
	}
	if d.TopP < 1 {
		total := 0.0
		for _, x := range d.sorted[:kept] {
			total += d.massOf(x)
		}
		sum := 0.0
		for i, x := range d.sorted[:kept] {
			if sum >= d.TopP*total {
				kept = i
				break
			}
			sum += d.massOf(x)
		}
	}
	last := d.sorted[kept-1]
	equal := kept // codes as far behind as the last one that are kept
	for equal > 0 && d.sorted[kept-equal] < last {
		equal--
	}
	for i, x := range d.behind {
		if x == last && equal > 0 {
			equal--
		} else if !(x < last) {
			d.mass[i] = 0
		}
	}
}
