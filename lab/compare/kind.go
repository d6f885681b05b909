package compare

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// Kind is a kind of comparison, of vectors or of pictures: its measures, the one that ranks, and its texts.
type Kind struct {
	Items    string          // "vectors" or "pictures"
	Measures []table.Measure // of a record's scores, in the order of tables
	Decides  string          // the measure that ranks
	Unit     string          // of differences in it; "" gives them in percent of the best
	Rate     string          // the measure along which sizes of code are drawn
	Charts   []Panel         // of every method, point by point
	Curves   []Panel         // over the rate
	Course   Panel           // the held-out score over training; Measure is not read
	held     func(vqtrain.HeldRecord) float64
	// score adds to a record the scores of a trained cell.
	score    func(ctx context.Context, s *subject, t trained, r *Record) error
	fairness string // what all methods have in common
	healthy  string // how to read the use of codes
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

var usedOverRate = Panel{Measure: "utilization", Title: "Codes in use", Label: "share of codes used (%)", Percent: true,
	Caption: "A line that falls is a method that cannot fill larger codebooks."}

func (p Panel) scale() float64 {
	if p.Percent {
		return 100
	}
	return 1
}

func (p Panel) chart(over string) report.LineChart {
	return report.LineChart{Title: p.Title, Caption: p.Caption, XLabel: over, YLabel: p.Label, LogY: p.Log, Percent: p.Percent}
}

func (k *Kind) deciding() table.Measure {
	return k.Measures[slices.IndexFunc(k.Measures, func(m table.Measure) bool { return m.Name == k.Decides })]
}

// filed are the measures in the order of files: the fixed ones first.
func (k *Kind) filed() []table.Measure {
	fixed := slices.DeleteFunc(slices.Clone(k.Measures), func(m table.Measure) bool { return !m.Fixed })
	return append(fixed, slices.DeleteFunc(slices.Clone(k.Measures), func(m table.Measure) bool { return m.Fixed })...)
}

// brief is a finished cell such as "error 0.358, 99.8% of codes used".
func (k *Kind) brief(r Record) string {
	return fmt.Sprintf("%s, %s of codes used", k.decided(table.Stat{Mean: r.Scores[k.Decides], Std: math.NaN(), N: 1}),
		report.Percent(r.Scores["utilization"], 1))
}

// decided words the score that ranks, such as "psnr 26.20 ± 0.05 dB".
func (k *Kind) decided(s table.Stat) string {
	m := k.deciding()
	if k.Unit != "" {
		return m.Title + " " + m.Text(s) + " " + k.Unit
	}
	return m.Title + " " + m.Text(s)
}
