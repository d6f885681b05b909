package nn

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
)

// InPrecision converts a network's input to the precision of its activations:
// dtypes.BFloat16, or zero for that of x. The embedded engine, slower in half
// precision, stays in that of x: a network trained on a GPU runs there at full
// speed.
func InPrecision(x *graph.Node, dtype dtypes.DType) *graph.Node {
	if dtype == dtypes.InvalidDType || dtype == dtypes.BFloat16 && onEmbeddedEngine(x) && !halfEverywhere {
		return x
	}
	return graph.ConvertDType(x, dtype)
}

// halfEverywhere lets tests compute in half precision on any engine.
var halfEverywhere bool
