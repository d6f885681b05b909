package vq_test

import (
	"fmt"

	"github.com/gritvq/gritvq/vq"
)

// DiVeQ sends gradients to points and codes through the length of the gap;
// without noise, its detach variant. Inference takes the nearest code.
func ExampleDiVeQ() {
	config := vq.DiVeQ.Config()
	config.Codes, config.Levels = 4, 1
	config.Noise = 0
	report(quantize(config))
	// Output:
	// [0 0] and [0 1] share a code: true
	// [9 0] and [9 1] share a code: true
	// [0 9] and [1 9] share a code: true
	// [9 9] and [8 9] share a code: true
	// 1 code(s) a point, mean squared error 0.125
}

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

// HyperVQ's codes start in the directions of k-means' centres at one distance
// from the origin; training moves each to its own.
func ExampleHyperVQ() {
	config := vq.HyperVQ.Config()
	config.Codes, config.Levels = 4, 1
	report(quantize(config))
	// Output:
	// [0 0] and [0 1] share a code: true
	// [9 0] and [9 1] share a code: true
	// [0 9] and [1 9] share a code: false
	// [9 9] and [8 9] share a code: true
	// 1 code(s) a point, mean squared error 9.760
}

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

// LFQ numbers points by signs: with eight codes, three lines cut the plane.
func ExampleLFQ() {
	config := vq.LFQ.Config()
	config.Codes, config.Levels = 8, 1
	report(quantize(config))
	// Output:
	// [0 0] and [0 1] share a code: true
	// [9 0] and [9 1] share a code: true
	// [0 9] and [1 9] share a code: true
	// [9 9] and [8 9] share a code: true
	// 1 code(s) a point, mean squared error 0.125
}

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

// Rotation differs from STE in the gradient that reaches the encoder; codes
// start, learn and are chosen alike.
func ExampleRotation() {
	config := vq.Rotation.Config()
	config.Codes, config.Levels = 4, 1
	report(quantize(config))
	// Output:
	// [0 0] and [0 1] share a code: true
	// [9 0] and [9 1] share a code: true
	// [0 9] and [1 9] share a code: true
	// [9 9] and [8 9] share a code: true
	// 1 code(s) a point, mean squared error 0.125
}

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

// SpaceFillingDiVeQ trains towards points of the curve through the codes;
// tokens are the codes themselves.
func ExampleSpaceFillingDiVeQ() {
	config := vq.SpaceFillingDiVeQ.Config()
	config.Codes, config.Levels = 4, 1
	report(quantize(config))
	// Output:
	// [0 0] and [0 1] share a code: true
	// [9 0] and [9 1] share a code: true
	// [0 9] and [1 9] share a code: true
	// [9 9] and [8 9] share a code: true
	// 1 code(s) a point, mean squared error 0.125
}

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
