package codes

import "math"

// Probabilities are mixed as log-odds, ln(p/(1-p)). Both are integers: the
// probability of a one in units of 2^-16, log-odds in units of 1/256 within
// ±9, where the probability is 2^-13.

const (
	logOddsUnit = 256
	logOddsMax  = 9 * logOddsUnit
)

// squashed[x+logOddsMax] is the probability with log-odds x, and stretched[p]
// the log-odds of the probability (p+1/2)/2^12. No entry lies near enough to
// the middle between two integers for the last bits of a CPU's exponential to
// matter; a test holds this down.
var (
	squashed  = squashTable()
	stretched = stretchTable()
)

func squashTable() (table [2*logOddsMax + 1]uint16) {
	for i := range table {
		table[i] = uint16(math.Round(exactSquash(i - logOddsMax)))
	}
	return table
}

func stretchTable() (table [1 << 12]int16) {
	for i := range table {
		table[i] = int16(math.Round(exactStretch(i)))
	}
	return table
}

func exactSquash(logOdds int) float64 {
	return (1 << probabilityBits) / (1 + math.Exp(-float64(logOdds)/logOddsUnit))
}

func exactStretch(place int) float64 {
	odds := (float64(place) + 0.5) / (float64(1<<12-place) - 0.5)
	return max(-logOddsMax, min(logOddsUnit*math.Log(odds), logOddsMax))
}

// squash returns the probability of a one, never 0 or 1.
func squash(logOdds int32) uint32 {
	return uint32(squashed[max(-logOddsMax, min(logOdds, logOddsMax))+logOddsMax])
}

// stretch is the inverse of squash, up to rounding.
func stretch(one uint32) int32 { return int32(stretched[one>>4]) }

// mixInputs is the number of opinions that are mixed.
const mixInputs = 8

// A mix weighs opinions: log-odds given as differences from a first one. The
// weights, in units of 2^-16, are moved after every bit along the gradient of
// its cost, so that a mix trusts opinions that have been right.
type mixWeights [mixInputs]int32

const mixOne = 1 << 16

// logOdds returns the weighted sum of the opinions.
func (w *mixWeights) logOdds(opinions *[mixInputs]int32) int32 {
	var sum int64
	for i, opinion := range opinions {
		sum += int64(w[i]) * int64(opinion)
	}
	return int32(max(-logOddsMax, min(sum>>16, logOddsMax)))
}

// learn moves the weights after a bit that was thought to be one with the
// given probability, at a rate of 2^(8-slowness) per unit of log-odds.
func (w *mixWeights) learn(opinions *[mixInputs]int32, bit, one uint32, slowness int) {
	surprise := int32(bit<<probabilityBits) - int32(one)
	for i, opinion := range opinions {
		w[i] += (opinion*surprise + 1<<(slowness-1)) >> slowness
	}
}
