package nn_test

import (
	"fmt"
	"log"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend" // the embedded engine
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"
)

// run installs the variables and applies a block to x.
func run(variables weights.Set, x *tensors.Tensor, build func(v weights.Vars, x *graph.Node) *graph.Node) *tensors.Tensor {
	store := model.NewStore()
	if err := weights.Install(store, variables); err != nil {
		log.Fatal(err)
	}
	engine, err := compute.NewWithConfig("go")
	if err != nil {
		log.Fatal(err)
	}
	y, err := model.CallOnce(engine, store, func(_ *model.Scope, x *graph.Node) *graph.Node {
		return build(weights.FromStore(store, x.Graph()), x)
	}, x)
	if err != nil {
		log.Fatal(err)
	}
	return y
}

// A horizontal difference, computed at every second pixel.
func ExampleConv() {
	c := nn.Conv{In: 1, Out: 1, Kernel: 3, Stride: 2, Padding: &[2][2]int{}}
	variables := weights.Set{
		"weights": {Shape: []int{3, 3, 1, 1}, Data: []float32{0, 0, 0, -1, 0, 1, 0, 0, 0}},
		"bias":    weights.New(1),
	}
	x := tensors.FromFlatDataAndDimensions([]float32{
		0, 0, 0, 0, 0,
		1, 2, 4, 8, 16,
		0, 0, 0, 0, 0,
	}, 1, 3, 5, 1)
	fmt.Println(run(variables, x, c.Build).Value())
	// Output:
	// [[[[3] [12]]]]
}
