package vq_test

import "github.com/gritvq/gritvq/vq"

// NSVQ trains with noise in place of the quantization error; inference knows no
// noise, and two levels of four codes tell all points apart.
func ExampleNSVQ() {
	config := vq.NSVQ.Config()
	config.Codes, config.Levels = 4, 2
	report(quantize(config))
	// Output:
	// [0 0] and [0 1] share a code: true
	// [9 0] and [9 1] share a code: true
	// [0 9] and [1 9] share a code: true
	// [9 9] and [8 9] share a code: true
	// 2 code(s) a point, mean squared error 0.000
}
