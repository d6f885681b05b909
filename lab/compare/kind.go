package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// Kind is a kind of comparison: what is measured, what decides, and how it
// reads. There are two, of vectors and of pictures.
type Kind struct {
	Items    string    // "vectors" or "pictures"
	Measures []Measure // of a record's scores, in the order of tables
	Decide   Decision
	Rate     string  // the measure along which sizes of code are drawn
	Charts   []Panel // of every method, point by point
	Curves   []Panel // over the rate
	Course   Panel   // the held-out score over training; Measure is not read
	held     func(vqtrain.HeldRecord) float64
	fairness string // what all methods had in common
	healthy  string // how to read the use of codes
}

// Measure is a score: a column of tables and files.
type Measure struct {
	Name  string // in records, results.json and results.csv
	Title string // of its column
	Note  string // what it means
	Goal  Goal
	Wide  bool // only on the page
	Fixed bool // the same for every seed: a plain number in files
	Text  func(Stat) string
}

// Goal says which values of a measure are good.
type Goal int

// The goals of a Measure.
const (
	Neither Goal = iota
	Lower
	Higher
)

// beats says whether a is better than b.
func (g Goal) beats(a, b float64) bool { return g == Lower && a < b || g == Higher && a > b }

// Decision is the rule by which methods are ranked and tied.
type Decision struct {
	Measure string
	// Unit is that in which differences are given; "" gives them in percent of
	// the best.
	Unit string
	// Tie is the difference below which methods count as tied where one seed
	// leaves no interval to judge by: in units, or as a share of the best.
	Tie float64
}

// Panel describes a chart of a measure.
type Panel struct {
	Measure string
	Title   string
	Caption string
	Label   string // of the axis
	Log     bool
	Percent bool // the measure is a fraction
}

// scale is what values are multiplied by.
func (p Panel) scale() float64 {
	if p.Percent {
		return 100
	}
	return 1
}

// measure returns a measure by name; every name in a Kind has one.
func (k *Kind) measure(name string) Measure {
	i := slices.IndexFunc(k.Measures, func(m Measure) bool { return m.Name == name })
	return k.Measures[i]
}

// filed are the measures in the order of files: those first that no seed changes.
func (k *Kind) filed() []Measure {
	measures := slices.Clone(k.Measures)
	slices.SortStableFunc(measures, func(a, b Measure) int {
		switch {
		case a.Fixed && !b.Fixed:
			return -1
		case b.Fixed && !a.Fixed:
			return 1
		}
		return 0
	})
	return measures
}

// deciding is the measure that ranks.
func (k *Kind) deciding() Measure { return k.measure(k.Decide.Measure) }

// tied says whether a difference seen with one seed is none.
func (d Decision) tied(difference, best float64) bool {
	tie := d.Tie
	if d.Unit == "" {
		tie *= math.Abs(best)
	}
	return difference == 0 || math.Abs(difference) < tie
}

// Brief is a finished cell in a few words, such as "error 0.358, 99.8% of codes
// used".
func (k *Kind) Brief(r Record) string {
	return fmt.Sprintf("%s, %s of codes used", k.decided(Stat{r.Scores[k.Decide.Measure], math.NaN()}), report.Percent(r.Scores["utilization"], 1))
}

// decided words the score that ranks, such as "psnr 26.20 ± 0.05 dB".
func (k *Kind) decided(s Stat) string {
	text := k.deciding().Title + " " + spread(s, 4)
	if k.Decide.Unit != "" {
		text += " " + k.Decide.Unit
	}
	return text
}

// Ways to write a score over seeds.

func digits(n int) func(Stat) string {
	return func(s Stat) string { return spread(s, n) }
}

func mean(n int) func(Stat) string {
	return func(s Stat) string { return report.Number(s.Mean, n) }
}

func short(s Stat) string { return report.Short(s.Mean, 3) }

func percent(s Stat) string { return report.Percent(s.Mean, 1) }

// share writes a fraction in percent, with its deviation where there is one that
// shows.
func share(s Stat) string {
	deviation := report.Number(math.Round(1000*s.Std)/10, 3)
	if math.IsNaN(s.Std) || deviation == "0" {
		return percent(s)
	}
	return fmt.Sprintf("%.1f ± %s%%", 100*s.Mean, deviation)
}

// spread writes a score with its deviation where there is one.
func spread(s Stat, digits int) string {
	if math.IsNaN(s.Std) {
		return report.Number(s.Mean, digits)
	}
	return report.PlusMinus(s.Mean, s.Std)
}
