package table

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/gritvq/gritvq/report"
)

// Measure is a score: a column of tables and files.
type Measure struct {
	Name  string // in records
	Title string // of its column
	Note  string // what it means
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
