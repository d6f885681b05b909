package vq_test

import "github.com/gritvq/gritvq/vq"

// Training draws codes from logits; evaluation takes the likeliest, which a start
// on data makes the nearest.
func ExampleSTGumbel() {
	config := vq.STGumbel.Config()
	config.Codes, config.Levels = 4, 1
	report(quantize(config))
	// Output:
	// [0 0] and [0 1] share a code: true
	// [9 0] and [9 1] share a code: true
	// [0 9] and [1 9] share a code: true
	// [9 9] and [8 9] share a code: true
	// 1 code(s) a point, mean squared error 0.125
}
