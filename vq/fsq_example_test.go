package vq_test

import (
	"fmt"

	"github.com/gritvq/gritvq/vq"
)

// FSQ has no codebook: 256 codes are asked for, the published grid of 8 x 6 x 5
// values has 240. Points of the plane are projected onto the grid and back.
func ExampleFSQ() {
	config := vq.FSQ.Config()
	config.Codes, config.Levels = 256, 1
	q, err := vq.New(config, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("vocabulary", q.Layout().Vocab)
	report(quantize(config))
	// Output:
	// vocabulary [240]
	// [0 0] and [0 1] share a code: true
	// [9 0] and [9 1] share a code: true
	// [0 9] and [1 9] share a code: false
	// [9 9] and [8 9] share a code: false
	// 1 code(s) a point, mean squared error 0.121
}
