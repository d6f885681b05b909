package report

import "math"

// The magnitudes drawn end where sums, differences and ratios of two values
// could overflow.
const (
	largest    = 1e300
	largestLog = 1e150
)

func drawable(v float64, log bool) bool {
	if log {
		return v >= 1/largestLog && v <= largestLog
	}
	return math.Abs(v) <= largest // false for NaN
}

// domain is the range of values an axis shows.
type domain struct {
	lo, hi float64
	log    bool
	empty  bool
	whole  bool // all values are integers, and so should be the ticks
	binary bool // all values are 2, 4, 8, ..., as numbers of codes are
	blank  bool // there were no values: ticks would mean nothing
}

func newDomain(log bool) domain { return domain{log: log, empty: true, whole: true, binary: true} }

// include widens the domain to hold v; values that cannot be drawn are ignored.
func (d *domain) include(v float64) {
	if !drawable(v, d.log) {
		return
	}
	if d.empty {
		d.lo, d.hi, d.empty = v, v, false
	}
	d.lo, d.hi = math.Min(d.lo, v), math.Max(d.hi, v)
	d.whole = d.whole && v == math.Trunc(v)
	fraction, _ := math.Frexp(v)
	d.binary = d.binary && v >= 2 && fraction == 0.5
}

// settle makes lo < hi with room for distinct ticks: an empty domain becomes
// [0,1] ([1,10] when logarithmic), a constant one opens around its value.
func (d *domain) settle() {
	if d.empty {
		d.lo, d.hi, d.empty, d.whole, d.binary, d.blank = 0, 1, false, false, false, true
		if d.log {
			d.lo, d.hi = 1, 10
		}
		return
	}
	if d.log {
		switch {
		case d.hi/d.lo >= 1+1e-9:
		case d.whole && d.lo == 1: // no rank below 1
			d.hi = 2
		default:
			d.lo, d.hi = d.lo/2, d.hi*2
		}
		return
	}
	size := math.Max(math.Abs(d.lo), math.Abs(d.hi))
	if width := d.hi - d.lo; width > 1e-290 && width > size*1e-11 {
		return
	}
	around := size / 2
	if size < 1e-280 {
		around = 1
	}
	d.lo, d.hi = d.lo-around, d.hi+around
}

// settleShare settles a domain of percentages: it stays between 0 and 100 and
// shows at least 1 of them, so that noise in the last digit does not look large.
func (d *domain) settleShare() {
	d.settle()
	if d.log || d.lo >= 100 || d.hi <= 0 { // no shares
		return
	}
	d.lo, d.hi = math.Max(d.lo, 0), math.Min(d.hi, 100)
	switch {
	case d.hi-d.lo >= 1:
	case d.hi > 99:
		d.lo, d.hi = 99, 100
	default:
		d.hi = d.lo + 1
	}
}

// round widens a settled linear domain to whole tick steps.
func (d *domain) round(target int) {
	if d.log {
		return
	}
	mantissa, power := tickStep(d.hi-d.lo, target, d.whole)
	step := multiple(1, mantissa, power)
	d.lo = multiple(math.Floor(d.lo/step+1e-6), mantissa, power)
	d.hi = multiple(math.Ceil(d.hi/step-1e-6), mantissa, power)
}

// pad widens a settled domain by a fraction of its width on both sides.
func (d *domain) pad(fraction float64) {
	if d.log {
		factor := math.Pow(d.hi/d.lo, fraction)
		d.lo, d.hi = d.lo/factor, d.hi*factor
		return
	}
	by := (d.hi - d.lo) * fraction
	d.lo, d.hi = d.lo-by, d.hi+by
}

// at returns where v lies between lo (0) and hi (1).
func (d domain) at(v float64) float64 {
	if d.log {
		return (math.Log(v) - math.Log(d.lo)) / (math.Log(d.hi) - math.Log(d.lo))
	}
	return (v - d.lo) / (d.hi - d.lo)
}

func (d domain) ticks(target int) []tick {
	switch {
	case d.blank:
		return nil
	case d.log && d.binary:
		return binaryTicks(d.lo, d.hi, target)
	case d.log:
		return logTicks(d.lo, d.hi, target, d.whole)
	}
	return linearTicks(d.lo, d.hi, target, d.whole)
}

// axis maps a domain to pixels from start to end.
type axis struct {
	domain
	start, end float64
}

func (a axis) pos(v float64) float64 { return a.start + a.at(v)*(a.end-a.start) }

// ticksThatFit returns the most ticks whose labels, each of the size that
// measure gives and gap apart, do not overlap along the axis.
func (a axis) ticksThatFit(target int, gap float64, measure func(label string) float64) []tick {
	for ; ; target-- {
		ticks := a.ticks(target)
		fits := true
		for i := 1; i < len(ticks); i++ {
			distance := math.Abs(a.pos(ticks[i].value) - a.pos(ticks[i-1].value))
			fits = fits && distance >= (measure(ticks[i].label)+measure(ticks[i-1].label))/2+gap
		}
		if fits || target <= 2 {
			return ticks
		}
	}
}
