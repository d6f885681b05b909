package feature

import (
	"context"
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/weights"
)

// Extractor computes the features of pictures on the host. It is safe for
// concurrent use.
type Extractor struct {
	network Network
	runner  *runner
}

// NewExtractor prepares a network on an engine.
func NewExtractor(backend compute.Backend, network Network) (*Extractor, error) {
	r, err := newRunner(backend, network.Variables(), network.Input().Batch, func(v weights.Vars, pictures []*graph.Node) *graph.Node {
		return network.Features(v, pictures[0])
	})
	if err != nil {
		return nil, fmt.Errorf("preparing %s: %w", network.Name(), err)
	}
	return &Extractor{network: network, runner: r}, nil
}

// Close releases the engine's memory.
func (e *Extractor) Close() { e.runner.close() }

// Features returns the features [n, D] of n pictures [n, size, size, 3], resized
// to the network's size (see [Resize]).
func (e *Extractor) Features(ctx context.Context, pixels []uint8, n, size int) ([]float32, error) {
	if err := checkPixels(pixels, n, size); err != nil {
		return nil, err
	}
	side := e.network.Input().Size
	if side == 0 {
		side = size
	}
	resize := newResizer(size, side)
	picture := size * size * 3
	return e.runner.run(ctx, n, side, 1, func(_, start, count int, block []float32) {
		for i := range count {
			resize.apply(block[i*side*side*3:(i+1)*side*side*3], pixels[(start+i)*picture:(start+i+1)*picture])
		}
	})
}
