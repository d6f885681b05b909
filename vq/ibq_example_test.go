package vq_test

import "github.com/gritvq/gritvq/vq"

// IBQ compares inner products, hence directions: before training, the group at
// the origin, which has none, and the one above it are not told apart.
func ExampleIBQ() {
	config := vq.IBQ.Config()
	config.Codes, config.Levels = 4, 1
	report(quantize(config))
	// Output:
	// [0 0] and [0 1] share a code: false
	// [9 0] and [9 1] share a code: true
	// [0 9] and [1 9] share a code: false
	// [9 9] and [8 9] share a code: true
	// 1 code(s) a point, mean squared error 9.760
}
