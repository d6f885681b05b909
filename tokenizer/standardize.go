package tokenizer

import (
	"math"

	"github.com/gritvq/gritvq/weights"
)

// standardization returns what is subtracted and divided by. One scale for all
// dimensions keeps the error in proportion to the vectors' own; dimensions that
// do not vary are left alone.
func standardization(kind string, mean, variance []float64) (shift, scale *weights.Array) {
	d := len(mean)
	shift, scale = weights.New(d), weights.Full(1, d)
	if kind == "none" {
		return shift, scale
	}
	total := 0.0
	for i := range d {
		shift.Data[i] = float32(mean[i])
		total += variance[i] / float64(d)
	}
	for i := range d {
		v := total
		if kind == "feature" {
			v = variance[i]
		}
		if std := float32(math.Sqrt(v)); std > 0 && !math.IsInf(float64(1/std), 0) {
			scale.Data[i] = std
		}
	}
	return shift, scale
}
