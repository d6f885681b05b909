package vq_test

import (
	"fmt"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/vq"
)

// SpaceFillingDiVeQ trains towards points of the curve through the codes;
// tokens are the codes themselves.
func ExampleSpaceFillingDiVeQ() {
	config := vq.SpaceFillingDiVeQ()
	config.Codes, config.Levels = 4, 1
	report(quantize(config))
	// Output:
	// [0 0] and [0 1] share a code: true
	// [9 0] and [9 1] share a code: true
	// [0 9] and [1 9] share a code: true
	// [9 9] and [8 9] share a code: true
	// 1 code(s) a point, mean squared error 0.125
}

// The nearest code of a point between two codes is far; the nearest point of the
// curve through them is not, but it has no index.
func ExampleProjectOnCurve() {
	backend, err := engine.Open(engine.Embedded)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := graph.CallOnceN(backend, func(z, codes *graph.Node) []*graph.Node {
		segment, share, point := vq.ProjectOnCurve(z, codes)
		return []*graph.Node{vq.Take(codes, vq.Nearest(z, codes)), point, segment, share}
	}, [][]float32{{3, 1}}, [][]float32{{0, 0}, {8, 0}, {8, 8}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("nearest code", out[0].Value())
	fmt.Println("on the curve", out[1].Value(), "of segment", out[2].Value(), "at", out[3].Value())
	// Output:
	// nearest code [[0 0]]
	// on the curve [[3 0]] of segment [0] at [[0.375]]
}
