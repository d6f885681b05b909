package radius_test

import (
	"fmt"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/radius"
)

// The factor k says how much of the gradient along the gap is taken from the
// latent and given to its code.
func ExampleConfig_K() {
	backend, err := engine.Open(engine.Embedded)
	if err != nil {
		fmt.Println(err)
		return
	}
	huber := radius.Default()
	huber.Kind, huber.Mode, huber.Scalar.Value = radius.Huber, radius.UnitHard, 1
	for _, gap := range []float32{0.25, 0.5, 2} {
		k, err := graph.CallOnceN(backend, func(latent, code *graph.Node) []*graph.Node {
			return []*graph.Node{radius.Default().K(radius.Inputs{}, latent, code), huber.K(radius.Inputs{}, latent, code)}
		}, [][]float32{{0}}, [][]float32{{gap}})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("gap %.2f: Euclidean %.2f, Huber %.2f\n", gap, k[0].Value().([]float32)[0], k[1].Value().([]float32)[0])
	}
	// Output:
	// gap 0.25: Euclidean 1.00, Huber 0.25
	// gap 0.50: Euclidean 1.00, Huber 0.50
	// gap 2.00: Euclidean 1.00, Huber 1.00
}
