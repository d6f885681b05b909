package report

import (
	"math"
	"strconv"
)

// tick is one labelled position of an axis.
type tick struct {
	value float64
	label string
}

// tickStep returns the step 1, 2 or 5 times 10^power that divides width into about
// target parts; a whole one is at least 1.
func tickStep(width float64, target int, whole bool) (mantissa float64, power int) {
	raw := width / float64(max(target, 1))
	if whole {
		raw = math.Max(raw, 1)
	}
	power = int(math.Floor(math.Log10(raw)))
	scaled := raw / math.Pow10(power)
	// Log10 can land on either side of an exact power of ten.
	if scaled >= 10 {
		scaled, power = scaled/10, power+1
	}
	switch {
	case scaled < 1.5:
		return 1, power
	case scaled < 3.5:
		return 2, power
	case scaled < 7.5:
		return 5, power
	}
	return 1, power + 1
}

// multiple returns i*mantissa*10^power, exact where a float64 can be.
func multiple(i, mantissa float64, power int) float64 {
	if power < 0 && power >= -22 {
		return i * mantissa / math.Pow10(-power)
	}
	return i * mantissa * math.Pow10(power)
}

// linearTicks returns about target ticks in [lo, hi], lo < hi.
func linearTicks(lo, hi float64, target int, whole bool) []tick {
	mantissa, power := tickStep(hi-lo, target, whole)
	step := multiple(1, mantissa, power)
	var values []float64
	for i, last := math.Ceil(lo/step-1e-6), math.Floor(hi/step+1e-6); i <= last; i++ {
		values = append(values, multiple(i, mantissa, power))
	}
	return labelLinear(values, power)
}

// labelLinear gives all ticks of an axis the same unit and number of
// decimals; power is that of the step.
func labelLinear(values []float64, power int) []tick {
	largest := 0.0
	for _, v := range values {
		largest = math.Max(largest, math.Abs(v))
	}
	exponent, suffix := 0, ""
	scaled := func(v float64) float64 { return v }
	switch {
	case largest >= 1e15 || largest > 0 && largest < 1e-3:
		exponent = int(math.Floor(math.Log10(largest) + 1e-9))
		suffix = "e" + strconv.Itoa(exponent)
		half := exponent / 2 // in two steps, to stay in the range of a float64
		scaled = func(v float64) float64 { return v * math.Pow10(-half) * math.Pow10(half-exponent) }
	case largest >= 1e4:
		for i, prefix := range prefixes {
			if largest >= prefix.value {
				exponent, suffix = 3*(i+1), prefix.name
				scaled = func(v float64) float64 { return v / prefix.value }
			}
		}
	}
	return labelled(values, func(v float64) string {
		if v == 0 {
			return "0"
		}
		return strconv.FormatFloat(scaled(v), 'f', max(0, exponent-power), 64) + suffix
	})
}

func labelled(values []float64, label func(v float64) string) []tick {
	ticks := make([]tick, len(values))
	for i, v := range values {
		ticks[i] = tick{v, label(v)}
	}
	return ticks
}

// logTicks returns ticks in [lo, hi], 0 < lo < hi: powers of ten in a wide range,
// also their multiples by 2 and 5 in a narrower one, else linear ticks.
func logTicks(lo, hi float64, target int, whole bool) []tick {
	decades := math.Log10(hi) - math.Log10(lo)
	first, last := int(math.Floor(math.Log10(lo))), int(math.Ceil(math.Log10(hi)))
	var values []float64
	add := func(v float64) {
		if v >= lo*(1-1e-9) && v <= hi*(1+1e-9) {
			values = append(values, v)
		}
	}
	switch {
	case decades >= 2.5:
		stride := max(1, int(math.Ceil(decades/float64(max(target, 2)))))
		for e := first; e <= last; e++ {
			if e%stride == 0 {
				add(math.Pow10(e))
			}
		}
	case decades >= 0.8:
		for e := first; e <= last; e++ {
			for _, mantissa := range []float64{1, 2, 5} {
				add(multiple(1, mantissa, e))
			}
		}
	default:
		return linearTicks(lo, hi, target, whole)
	}
	return labelled(values, func(v float64) string { return Short(v, 1) })
}

// binaryTicks returns powers of two in [lo, hi], 2 <= hi, in even steps.
func binaryTicks(lo, hi float64, target int) []tick {
	first, last := int(math.Ceil(math.Log2(lo)-1e-9)), int(math.Floor(math.Log2(hi)+1e-9))
	stride := max(1, int(math.Ceil(float64(last-first+1)/float64(max(target, 2)))))
	var ticks []tick
	for e := first; e <= last; e += stride {
		v := math.Ldexp(1, e)
		label := Short(v, 3)
		if v >= 1 && v < 1e6 {
			label = Count(int(v))
		}
		ticks = append(ticks, tick{v, label})
	}
	return ticks
}
