package radius_test

import (
	"fmt"

	"github.com/gritvq/gritvq/radius"
)

// The factor k says how much of the gradient along the gap is taken from the
// latent and given to its code.
func ExampleConfig_K() {
	huber := radius.Default()
	huber.Kind, huber.Mode, huber.Scalar.Value = radius.Huber, radius.UnitHard, 1
	for _, gap := range []float64{0.25, 0.5, 2} {
		fmt.Printf("gap %.2f: Euclidean %.2f, Huber %.2f\n", gap, radius.Default().K(gap, 1), huber.K(gap, 1))
	}
	// Output:
	// gap 0.25: Euclidean 1.00, Huber 0.25
	// gap 0.50: Euclidean 1.00, Huber 0.50
	// gap 2.00: Euclidean 1.00, Huber 1.00
}
