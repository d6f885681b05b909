package table

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/report"
)

// Measure is a score: a column of tables and files.
type Measure struct {
	Name  string // in records
	Title string // of its column
	Note  string // its meaning
	Goal  Goal
	// Resolution is the smallest difference that counts if seeds do not show how
	// much the score varies. If Relative is set, it is a share of the best score.
	Resolution float64
	Relative   bool
	Percent    bool // the score is a fraction and charts show it in percent
	Wide       bool // only in tables with much room, such as on pages
	Fixed      bool // the same for every seed: a plain number in files
	Text       func(Stat) string
}

// PSNRResolution is the resolution of PSNR, in dB: 0.5 % of the squared error.
const PSNRResolution = 0.02

// Goal says which values of a measure are good.
type Goal int

// The goals of a Measure.
const (
	Neither Goal = iota
	Lower
	Higher
)

// Beats says whether a is better than b.
func (g Goal) Beats(a, b float64) bool { return g == Lower && a < b || g == Higher && a > b }

func (m Measure) reads(x float64) string { return m.Text(Stat{x, math.NaN(), 1}) }

func (m Measure) scale() float64 {
	if m.Percent {
		return 100
	}
	return 1
}

// Digits writes the mean and, for several seeds, its deviation; n is the number of significant digits for one seed.
func Digits(n int) func(Stat) string {
	return func(s Stat) string {
		if math.IsNaN(s.Std) {
			return report.Number(s.Mean, n)
		}
		return report.PlusMinus(s.Mean, s.Std)
	}
}

// Mean writes the mean with n significant digits.
func Mean(n int) func(Stat) string {
	return func(s Stat) string { return report.Number(s.Mean, n) }
}

// Short writes the mean with a unit prefix, such as 12.3M.
func Short(s Stat) string { return report.Short(s.Mean, 3) }

// Percent writes the mean of a fraction in percent.
func Percent(s Stat) string { return report.Percent(s.Mean, 1) }

// Share writes a fraction in percent, with its deviation unless that reads 0.
func Share(s Stat) string {
	deviation := report.Number(math.Round(1000*s.Std)/10, 3)
	if math.IsNaN(s.Std) || deviation == "0" {
		return Percent(s)
	}
	return fmt.Sprintf("%.1f ± %s%%", 100*s.Mean, deviation)
}

// Duration writes the mean of seconds.
func Duration(s Stat) string { return Seconds(s.Mean) }

// Seconds writes a time, such as 3m 05s.
func Seconds(s float64) string { return report.Duration(time.Duration(s * float64(time.Second))) }

// Decimals writes the mean and, for several seeds, its deviation with a fixed number of decimals.
func Decimals(n int) func(Stat) string { return decimals(n, 1, "") }

// PercentDecimals is [Decimals] of a fraction in percent.
func PercentDecimals(n int) func(Stat) string { return decimals(n, 100, " %") }

func decimals(n int, scale float64, unit string) func(Stat) string {
	number := func(x float64) string { return strconv.FormatFloat(scale*x, 'f', n, 64) }
	return func(s Stat) string {
		if !math.IsNaN(s.Std) {
			return number(s.Mean) + " ± " + number(s.Std) + unit
		}
		return number(s.Mean) + unit
	}
}

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

// intervalSeeds is the minimum number of common seeds for the interval to decide.
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
