package vq_test

import "github.com/gritvq/gritvq/vq"

// RQVAE is TIGER's residual quantizer: the first level finds the groups, the
// second tells their points apart.
func ExampleRQVAE() {
	config := vq.RQVAE.Config()
	config.Codes, config.Levels = 4, 2
	report(quantize(config))
	// Output:
	// [0 0] and [0 1] share a code: true
	// [9 0] and [9 1] share a code: true
	// [0 9] and [1 9] share a code: true
	// [9 9] and [8 9] share a code: true
	// 2 code(s) a point, mean squared error 0.000
}
