package feature

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/internal/padding"
	"github.com/gritvq/gritvq/internal/parallel"
	"github.com/gritvq/gritvq/internal/program"
	"github.com/gritvq/gritvq/weights"
)

// The number of pictures the engine sees at a time. Every block has this size,
// the last one padded, so that each picture size is compiled once and results do
// not depend on neighbours. The embedded engine works on several small blocks at
// once, which stay in the processor's caches.
const (
	embeddedBlock   = 4
	embeddedWorkers = 8
	compiledBlock   = 32
)

// runner executes a frozen network on the host's pictures, block by block.
type runner struct {
	store   *model.Store
	exec    *model.Exec
	block   int
	workers int
}

// newRunner prepares a graph function of picture blocks [block, H, W, 3], whose
// result is [block, …]. A block of 0 is the engine's usual one.
func newRunner(
	backend compute.Backend, set weights.Set, block int, build func(v weights.Vars, pictures []*graph.Node) *graph.Node,
) (*runner, error) {
	if err := padding.Add(backend); err != nil {
		return nil, err
	}
	r := &runner{store: model.NewStore(), block: compiledBlock, workers: 1}
	if backend.String() == "go" {
		r.block, r.workers = embeddedBlock, min(embeddedWorkers, runtime.GOMAXPROCS(0))
	}
	r.block = cmp.Or(block, r.block)
	if err := weights.Install(r.store, set); err != nil {
		return nil, err
	}
	var err error
	r.exec, err = model.NewExec(backend, r.store, func(_ *model.Scope, pictures []*graph.Node) *graph.Node {
		return program.PlannedOne("features of pictures", pictures, build(weights.FromStore(r.store, pictures[0].Graph()), pictures))
	})
	return r, err
}

func (r *runner) close() {
	r.exec.Finalize()
	r.store.Finalize()
}

// run feeds n pictures of side x side through the network. fill writes count
// pictures from start on as values in [0, 1], for every argument of the graph
// function; it is called from several goroutines.
func (r *runner) run(
	ctx context.Context, n, side, arguments int, fill func(argument, start, count int, block []float32),
) ([]float32, error) {
	results := make([][]float32, (n+r.block-1)/r.block)
	err := parallel.Each(len(results), r.workers, func(i int) (err error) {
		if err := ctx.Err(); err != nil {
			return err
		}
		count := min(r.block, n-i*r.block)
		inputs := make([]any, arguments)
		for k := range inputs {
			block := make([]float32, r.block*side*side*3)
			fill(k, i*r.block, count, block)
			inputs[k] = tensors.FromFlatDataAndDimensions(block, r.block, side, side, 3)
		}
		results[i], err = r.call(inputs, count)
		return err
	})
	return slices.Concat(results...), err
}

// call runs one block and returns the results of its first count pictures.
func (r *runner) call(inputs []any, count int) (results []float32, err error) {
	value, err := r.exec.Call1(inputs...)
	if err != nil {
		return nil, fmt.Errorf("running the network: %w", err)
	}
	err = tensors.ConstFlatData(value, func(flat []float32) {
		results = append(results, flat[:len(flat)/r.block*count]...)
	})
	return results, errors.Join(err, value.FinalizeAll())
}

// checkPixels reports pixels that are not n pictures of size x size x 3.
func checkPixels(pixels []uint8, n, size int) error {
	if n < 0 || size < 1 || len(pixels) != n*size*size*3 {
		return fmt.Errorf("%d samples are not %d pictures of %d x %d x 3", len(pixels), n, size, size)
	}
	return nil
}
