package vq_test

import (
	"fmt"
	"log"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/radius"
	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// Four groups of points in the plane, the data of the examples.
var points = [][]float32{{0, 0}, {0, 1}, {9, 0}, {9, 1}, {0, 9}, {1, 9}, {9, 9}, {8, 9}}

// quantize composes the quantizer, starts its codes on the points, and returns
// the points' codes and the vectors those codes stand for.
func quantize(config vq.Config) (codes [][]int32, vectors [][]float32) {
	q, err := vq.New(config, 2)
	if err != nil {
		log.Fatal(err)
	}
	var rows []float32
	for _, p := range points {
		rows = append(rows, p...)
	}
	variables, err := q.Init(vq.Latents{Rows: rows, N: len(points), Dim: 2}, weights.Rand(1, "example"))
	if err != nil {
		log.Fatal(err)
	}
	// Graph code asks for variables by name; here they live in a store.
	store := model.NewStore()
	if err := weights.Install(store, variables); err != nil {
		log.Fatal(err)
	}
	backend, err := engine.Open(engine.Embedded)
	if err != nil {
		log.Fatal(err)
	}
	out, err := model.CallOnceN(backend, store, func(_ *model.Scope, z *graph.Node) []*graph.Node {
		ctx := &vq.Context{Vars: weights.FromStore(store, z.Graph())}
		index := q.Build(ctx, z).Index // [N, levels]
		return []*graph.Node{index, vq.Lookup(q, ctx, index)}
	}, tensors.FromValue(points))
	if err != nil {
		log.Fatal(err)
	}
	return out[0].Value().([][]int32), out[1].Value().([][]float32)
}

// report prints which points share their first code, and the error of all.
func report(codes [][]int32, vectors [][]float32) {
	for i := 0; i < len(points); i += 2 {
		fmt.Printf("%v and %v share a code: %v\n", points[i], points[i+1], codes[i][0] == codes[i+1][0])
	}
	squared := 0.0
	for i, v := range vectors {
		for j := range v {
			squared += float64(v[j]-points[i][j]) * float64(v[j]-points[i][j])
		}
	}
	fmt.Printf("%d code(s) a point, mean squared error %.3f\n", len(codes[0]), squared/float64(2*len(points)))
}

// STE is VQ-VAE's quantizer: every point is replaced by the nearest of four
// codes, here the centres of the groups.
func ExampleSTE() {
	config := vq.STE.Config()
	config.Codes, config.Levels = 4, 1
	report(quantize(config))
	// Output:
	// [0 0] and [0 1] share a code: true
	// [9 0] and [9 1] share a code: true
	// [0 9] and [1 9] share a code: true
	// [9 9] and [8 9] share a code: true
	// 1 code(s) a point, mean squared error 0.125
}

// EMA differs from STE in how codes learn: as running averages of the points
// that chose them, kept beside the codes.
func ExampleEMA() {
	config := vq.EMA.Config()
	config.Codes, config.Levels = 4, 1
	report(quantize(config))
	// Output:
	// [0 0] and [0 1] share a code: true
	// [9 0] and [9 1] share a code: true
	// [0 9] and [1 9] share a code: true
	// [9 9] and [8 9] share a code: true
	// 1 code(s) a point, mean squared error 0.125
}

// GRIT is a radius, which decides the gradient across the hard assignment, and a
// transform of the codebook, which lets codes learn together.
func ExampleGRIT() {
	mixer := transform.Default()
	mixer.Rank = 2
	config := vq.GRIT.Config()
	config.Radius, config.Transform = radius.Default(), mixer
	config.Codes, config.Levels = 4, 1
	report(quantize(config))
	// Output:
	// [0 0] and [0 1] share a code: true
	// [9 0] and [9 1] share a code: true
	// [0 9] and [1 9] share a code: true
	// [9 9] and [8 9] share a code: true
	// 1 code(s) a point, mean squared error 0.125
}

// Residual levels code the residual of the levels before them: a second level of
// four codes separates the points of a group.
func ExampleResidual() {
	config := vq.STE.Config()
	config.Codes, config.Levels = 4, 2
	report(quantize(config))
	// Output:
	// [0 0] and [0 1] share a code: true
	// [9 0] and [9 1] share a code: true
	// [0 9] and [1 9] share a code: true
	// [9 9] and [8 9] share a code: true
	// 2 code(s) a point, mean squared error 0.000
}

// Product quantizes slices of the vector side by side: two codes for each
// coordinate are enough for the four groups.
func ExampleProduct() {
	config := vq.STE.Config()
	config.Codes, config.Levels, config.Parts = 2, 1, 2
	codes, _ := quantize(config)
	fmt.Println("codes a point:", len(codes[0]))
	fmt.Println("[0 0] and [9 0] agree in y:", codes[0][1] == codes[2][1])
	fmt.Println("[0 0] and [9 0] agree in x:", codes[0][0] == codes[2][0])
	// Output:
	// codes a point: 2
	// [0 0] and [9 0] agree in y: true
	// [0 0] and [9 0] agree in x: false
}
