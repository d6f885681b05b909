package vq_test

import "github.com/gritvq/gritvq/vq"

// SimVQ's codes are frozen random directions under a learned map, which starts
// at the points' mean and shape: no code sits on a group yet.
func ExampleSimVQ() {
	config := vq.SimVQ.Config()
	config.Codes, config.Levels = 16, 1
	report(quantize(config))
	// Output:
	// [0 0] and [0 1] share a code: true
	// [9 0] and [9 1] share a code: false
	// [0 9] and [1 9] share a code: true
	// [9 9] and [8 9] share a code: true
	// 1 code(s) a point, mean squared error 2.758
}
