package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// notAvailable stands for a value that is not a number.
const notAvailable = "n/a"

// Number formats v with about digits significant digits and no trailing
// zeros: Number(0.012345, 3) is "0.0123". Digits before the decimal point are
// never dropped (1234.5 gives "1235" or "1234"), and magnitudes outside
// [1e-4, 1e15) use an exponent. NaN gives "n/a", infinities "∞" and "-∞".
func Number(v float64, digits int) string {
	digits = max(digits, 1)
	switch {
	case math.IsNaN(v):
		return notAvailable
	case math.IsInf(v, 1):
		return "∞"
	case math.IsInf(v, -1):
		return "-∞"
	case v == 0:
		return "0"
	}
	if size := math.Abs(v); size < 1e-4 || size >= 1e15 {
		mantissa, power := scientific(v, digits)
		return trimZeros(mantissa) + "e" + strconv.Itoa(power)
	}
	return trimZeros(strconv.FormatFloat(v, 'f', decimalsFor(v, digits), 64))
}

// Short formats v like Number but with a unit prefix from a thousand on:
// Short(12345678, 3) is "12.3M". The prefixes are k, M, G and T.
func Short(v float64, digits int) string {
	digits = max(digits, 1)
	size := math.Abs(v)
	if !(size >= 999.5) || size >= 1e15 { // also NaN
		return Number(v, digits)
	}
	text := ""
	for _, prefix := range prefixes {
		scaled := v / prefix.value
		decimals := decimalsFor(scaled, digits)
		text = trimZeros(strconv.FormatFloat(scaled, 'f', decimals, 64)) + prefix.name
		if math.Abs(roundTo(scaled, decimals)) < 1000 {
			break
		}
	}
	return text
}

var prefixes = []struct {
	name  string
	value float64
}{{"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}}

// Count formats n with a comma between thousands: 65,536.
func Count(n int) string {
	s := strconv.Itoa(n)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Counted is a number with its noun: Counted(2, "row") is "2 rows".
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// Percent formats a fraction with the given number of decimals:
// Percent(0.1234, 1) is "12.3%". Only exact fractions become 0% or 100%:
// Percent(0.9999, 1) is ">99.9%".
func Percent(fraction float64, decimals int) string {
	if math.IsNaN(fraction) || math.IsInf(fraction, 0) {
		return Number(fraction, 1)
	}
	decimals = max(decimals, 0)
	unit := math.Pow10(-decimals)
	rounded := roundTo(100*fraction, decimals)
	switch {
	case fraction > 0 && rounded == 0:
		return "<" + strconv.FormatFloat(unit, 'f', decimals, 64) + "%"
	case fraction < 1 && rounded == 100:
		return ">" + strconv.FormatFloat(100-unit, 'f', decimals, 64) + "%"
	case rounded == 0:
		rounded = 0 // not -0
	}
	return strconv.FormatFloat(rounded, 'f', decimals, 64) + "%"
}

// PlusMinus formats a mean and its spread to the precision the spread allows,
// its two leading digits: PlusMinus(0.123456, 0.00417) is "0.1235 ± 0.0042".
// A spread that is not finite is left out.
func PlusMinus(mean, spread float64) string {
	spread = math.Abs(spread)
	switch {
	case math.IsNaN(spread) || math.IsInf(spread, 0) || math.IsNaN(mean) || math.IsInf(mean, 0):
		return Number(mean, 4)
	case spread == 0:
		return Number(mean, 4) + " ± 0"
	}
	decimals := decimalsFor(spread, 2)
	if decimals > 7 || math.Max(math.Abs(mean), spread) >= 1e15 {
		return Number(mean, 4) + " ± " + Number(spread, 2)
	}
	return strconv.FormatFloat(mean, 'f', decimals, 64) + " ± " + strconv.FormatFloat(spread, 'f', decimals, 64)
}

// Duration formats d with two units at most: 85µs, 450ms, 12.3s, 3m 05s,
// 1h 02m, 2d 03h.
func Duration(d time.Duration) string {
	if d < 0 {
		return "-" + Duration(-d)
	}
	seconds := int64(d.Round(time.Second) / time.Second)
	minutes := int64(d.Round(time.Minute) / time.Minute)
	hours := int64(d.Round(time.Hour) / time.Hour)
	switch {
	case d == 0:
		return "0s"
	case d < time.Microsecond:
		return fmt.Sprintf("%dns", d.Nanoseconds())
	case d < time.Millisecond-500*time.Nanosecond:
		return Number(d.Seconds()*1e6, 3) + "µs"
	case d < time.Second-500*time.Microsecond:
		return Number(d.Seconds()*1e3, 3) + "ms"
	case d < time.Minute-50*time.Millisecond:
		return Number(d.Seconds(), 3) + "s"
	case seconds < 3600:
		return fmt.Sprintf("%dm %02ds", seconds/60, seconds%60)
	case minutes < 24*60:
		return fmt.Sprintf("%dh %02dm", minutes/60, minutes%60)
	}
	return fmt.Sprintf("%dd %02dh", hours/24, hours%24)
}

// scientific returns v as mantissa*10^power, the mantissa with that many digits.
func scientific(v float64, digits int) (mantissa string, power int) {
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', digits-1, 64), "e")
	power, _ = strconv.Atoi(exponent) // of a finite v, always a number
	return mantissa, power
}

// decimalsFor returns how many decimals show v with that many significant digits,
// also where v is rounded up to the next power of ten (9.996 to 10.0).
func decimalsFor(v float64, digits int) int {
	_, power := scientific(v, digits)
	return max(0, digits-1-power)
}

func roundTo(v float64, decimals int) float64 {
	unit := math.Pow10(decimals)
	return math.Round(v*unit) / unit
}

func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}
