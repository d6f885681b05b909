package train

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/optim"
)

// Late in training the bias corrections are 1 to float32 precision, early ones
// must not lose digits to it.
func TestBiasCorrectionKeepsItsDigits(t *testing.T) {
	trainer := &Trainer{config: Config{Loop: Loop{Steps: 10}, Optimizer: optim.Optimizer{Beta1: 0.9, Beta2: 0.999, Rate: 1}}}
	for updates, want := range map[int][2]float64{1: {0.1, 0.001}, 2: {0.19, 0.001999}, 100000: {1, 1}} {
		values, err := tensors.CopyFlatData[float32](trainer.Pace(updates, true))
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range want {
			if math.Abs(float64(values[i])/w-1) > 1e-6 {
				t.Errorf("correction %d after %d updates is %v, want %v", i+1, updates, values[i], w)
			}
		}
	}
}
