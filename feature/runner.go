package feature

import (
	"context"
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/internal/heapguard"
	"github.com/gritvq/gritvq/weights"
)

// blockPictures is the number of pictures the engine sees at a time. Every block
// has this size, the last one padded, so that a size of picture is compiled for
// once and a picture's result does not depend on its neighbours.
const blockPictures = 8

// runner executes a frozen network on the host's pictures, block by block.
type runner struct {
	store *model.Store
	exec  *model.Exec
	block int
}

// newRunner prepares a graph function of picture blocks [block, H, W, 3], whose
// result is [block, …].
func newRunner(backend compute.Backend, set weights.Set, block int, build func(v weights.Vars, pictures []*graph.Node) *graph.Node) (*runner, error) {
	heapguard.Ensure()
	r := &runner{store: model.NewStore(), block: block}
	if err := weights.Install(r.store, set); err != nil {
		return nil, err
	}
	var err error
	r.exec, err = model.NewExec(backend, r.store, func(_ *model.Scope, pictures []*graph.Node) *graph.Node {
		return build(weights.FromStore(r.store, pictures[0].Graph()), pictures)
	})
	return r, err
}

func (r *runner) close() {
	r.exec.Finalize()
	r.store.Finalize()
}

// run feeds n pictures of side x side through the network. fill writes count
// pictures from start on as values in [0, 1], for every argument of the graph
// function.
func (r *runner) run(ctx context.Context, n, side, arguments int, fill func(argument, start, count int, block []float32)) ([]float32, error) {
	var results []float32
	for start := 0; start < n; start += r.block {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		count := min(r.block, n-start)
		inputs := make([]any, arguments)
		for k := range inputs {
			block := make([]float32, r.block*side*side*3)
			fill(k, start, count, block)
			inputs[k] = tensors.FromFlatDataAndDimensions(block, r.block, side, side, 3)
		}
		value, err := r.exec.Call1(inputs...)
		if err != nil {
			return nil, fmt.Errorf("running the network: %w", err)
		}
		err = tensors.ConstFlatData(value, func(flat []float32) {
			results = append(results, flat[:len(flat)/r.block*count]...)
		})
		if err != nil {
			return nil, err
		}
		if err := value.FinalizeAll(); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// checkPixels reports pixels that are not n pictures of size x size x 3.
func checkPixels(pixels []uint8, n, size int) error {
	if n < 0 || size < 1 || len(pixels) != n*size*size*3 {
		return fmt.Errorf("%d samples are not %d pictures of %d x %d x 3", len(pixels), n, size, size)
	}
	return nil
}
