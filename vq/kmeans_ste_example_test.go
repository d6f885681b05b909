package vq_test

import "github.com/gritvq/gritvq/vq"

// KMeansSTE clusters slices of the vector: two codes for each coordinate make
// four cells of the plane.
func ExampleKMeansSTE() {
	config := vq.KMeansSTE.Config()
	config.Codes, config.Parts = 2, 2
	report(quantize(config))
	// Output:
	// [0 0] and [0 1] share a code: true
	// [9 0] and [9 1] share a code: true
	// [0 9] and [1 9] share a code: true
	// [9 9] and [8 9] share a code: true
	// 2 code(s) a point, mean squared error 0.156
}
