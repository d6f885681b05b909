package transform_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"
)

// The default transform starts as the identity; a dead code is revived where a
// latent was, and the other codes stay.
func Example() {
	rng := rand.New(rand.NewPCG(1, 1))
	codes := &weights.Array{Shape: []int{3, 2}, Data: []float32{0, 1, 2, 3, 4, 5}}
	c := transform.Default()
	c.Rank = 2
	set, err := c.Init(codes, 1, rng)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Usable(set, codes))

	touched, err := c.Place(set, codes, []int{1}, []float32{-7, 7})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.3f\n", c.Usable(set, codes))
	fmt.Println(touched)
	// Output:
	// [0 1 2 3 4 5]
	// [0.000 1.000 -7.000 7.000 4.000 5.000]
	// [{mixer/a 1} {codes 1}]
}
