package table

import (
	"cmp"
	"math"
	"slices"

	"github.com/gritvq/gritvq/eval"
)

// Difference compares a group with the best one on the seeds that both have.
type Difference struct {
	Mean    float64  `json:"mean"`    // group - best
	Percent float64  `json:"percent"` // of the best one's score
	Low     *float64 `json:"low"`     // 95 % interval of the mean; null for one seed
	High    *float64 `json:"high"`
	P       *float64 `json:"p"` // of the paired t test
	Seeds   int      `json:"seeds"`
	Tied    bool     `json:"-"` // by the tie rule of the package
}

// intervalSeeds is the number of common seeds from which on the interval decides.
const intervalSeeds = 3

// Compare compares a group with the best one, given the typical deviation of the column. It returns nil if they
// have no common seed.
func (m Measure) Compare(g, best Group, typical float64) *Difference {
	mine, theirs := common(g, best, m.Name)
	if len(mine) == 0 {
		return nil
	}
	mean, _ := eval.MeanStd(mine)
	reference, _ := eval.MeanStd(theirs)
	d := &Difference{Mean: mean - reference, Seeds: len(mine)}
	resolution := m.Resolution
	if m.Relative {
		resolution *= math.Abs(reference)
	}
	d.Tied = m.Goal != Neither && (math.Abs(d.Mean) <= max(resolution, typical) || m.Goal.Beats(mean, reference))
	if test, err := eval.Paired(mine, theirs); err == nil { // two seeds or more
		d.Mean, d.Low, d.High, d.P = test.MeanDifference, &test.Low, &test.High, Finite(test.P)
		if len(mine) >= intervalSeeds {
			d.Tied = m.Goal == Higher && test.High >= 0 || m.Goal == Lower && test.Low <= 0
		}
	}
	if reference > 0 {
		d.Percent = 100 * d.Mean / reference
	}
	return d
}

// Mark is the standing of a group in a column.
type Mark int

// The marks of a group.
const (
	Unmarked Mark = iota
	Tied          // with the best
	Best          // reads as the best does
)

// Marks compares rival groups by the tie rule of the package, given the typical deviation of the column.
func (m Measure) Marks(rivals []Group, typical float64) []Mark {
	marks, stats := make([]Mark, len(rivals)), make([]Stat, len(rivals))
	best := -1
	for i, g := range rivals {
		stats[i] = g.Score(m.Name)
		if stats[i].N > 0 && m.Goal != Neither && (best < 0 || m.Goal.Beats(stats[i].Mean, stats[best].Mean)) {
			best = i
		}
	}
	differ := false
	for i, g := range rivals {
		switch {
		case best < 0 || stats[i].N == 0:
		case m.reads(stats[i].Mean) == m.reads(stats[best].Mean):
			marks[i] = Best
		default:
			differ = true
			if d := m.Compare(g, rivals[best], typical); d != nil && d.Tied {
				marks[i] = Tied
			}
		}
	}
	if !differ {
		clear(marks)
	}
	return marks
}

// Standing is a group among its rivals.
type Standing struct {
	Group
	Rank       int         // from 1
	Difference *Difference // from the best; nil for the best itself or without a common seed
}

// Rank sorts rival groups by a measure, the best first, those without it last.
func (m Measure) Rank(rivals []Group) []Standing {
	sorted := slices.SortedStableFunc(slices.Values(rivals), func(a, b Group) int {
		x, y := a.Score(m.Name), b.Score(m.Name)
		switch {
		case y.N == 0 && x.N > 0 || m.Goal.Beats(x.Mean, y.Mean):
			return -1
		case x.N == 0 && y.N > 0 || m.Goal.Beats(y.Mean, x.Mean):
			return 1
		}
		return cmp.Compare(a.Method, b.Method)
	})
	typical := Typical(rivals, m.Name)
	standings := make([]Standing, len(sorted))
	for i, g := range sorted {
		standings[i] = Standing{Group: g, Rank: i + 1}
		if i > 0 {
			standings[i].Difference = m.Compare(g, sorted[0], typical)
		}
	}
	return standings
}
