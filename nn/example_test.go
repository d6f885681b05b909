package nn_test

import (
	"fmt"
	"log"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"
)

// backend is the embedded engine.
var backend = sync.OnceValue(func() compute.Backend {
	e, err := engine.Open(engine.Embedded)
	if err != nil {
		log.Fatal(err)
	}
	return e
})

// run installs the variables and applies a block to x.
func run(variables weights.Set, x *tensors.Tensor, build func(v weights.Vars, x *graph.Node) *graph.Node) *tensors.Tensor {
	store := model.NewStore()
	if err := weights.Install(store, variables); err != nil {
		log.Fatal(err)
	}
	y, err := model.CallOnce(backend(), store, func(_ *model.Scope, x *graph.Node) *graph.Node {
		return build(weights.FromStore(store, x.Graph()), x)
	}, x)
	if err != nil {
		log.Fatal(err)
	}
	return y
}

// A horizontal difference, computed at every second pixel, with zeros around.
func ExampleConv() {
	c := nn.Conv{In: 1, Out: 1, Kernel: 3, Stride: 2}
	variables := weights.Set{
		"weights": {Shape: []int{3, 3, 1, 1}, Data: []float32{0, 0, 0, -1, 0, 1, 0, 0, 0}},
		"bias":    weights.New(1),
	}
	x := tensors.FromFlatDataAndDimensions([]float32{1, 2, 4, 8, 16}, 1, 1, 5, 1)
	fmt.Println(run(variables, x, c.Build).Value())
	// Output:
	// [[[[2] [6] [-8]]]]
}

// Pictures of 16 x 16 become 4 x 4 latents and pictures again.
func ExampleImageEncoder() {
	e := nn.ImageEncoder{Widths: []int{8, 16, 16}, Blocks: 1, Dim: 6}
	d := nn.ImageDecoder{Widths: []int{8, 16, 16}, Blocks: 1, Dim: 6, Up: "nearest"}
	pictures := tensors.FromShape(shapes.Make(dtypes.Float32, 2, 16, 16, 3))
	latents := run(e.Init(weights.Rand(1, "encoder")), pictures, e.Build)
	fmt.Println(latents.Shape(), "a factor of", e.Factor())
	fmt.Println(run(d.Init(weights.Rand(1, "decoder")), latents, d.Build).Shape())
	// Output:
	// (Float32)[2, 4, 4, 6] a factor of 4
	// (Float32)[2, 16, 16, 3]
}

// Three columns at stride 2: the last window reaches beyond the picture.
func ExampleMaxPool() {
	x := tensors.FromFlatDataAndDimensions([]float32{
		1, 5, 2, 0, 3, 9,
		4, 0, 7, 1, 8, 2,
		6, 3, 0, 2, 1, 1,
	}, 1, 3, 6, 1)
	fmt.Println(run(nil, x, func(_ weights.Vars, x *graph.Node) *graph.Node { return nn.MaxPool(x, 3, 2, true) }).Value())
	// Output:
	// [[[[7] [8] [9]]]]
}
