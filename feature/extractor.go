package feature

import (
	"cmp"
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
// to the network's size.
func (e *Extractor) Features(ctx context.Context, pixels []uint8, n, size int) ([]float32, error) {
	if err := checkPixels(pixels, n, size); err != nil {
		return nil, err
	}
	side := cmp.Or(e.network.Input().Size, size)
	resize := newResizer(size, side)
	picture := size * size * 3
	return e.runner.run(ctx, n, side, 1, func(_, start, count int, block []float32) {
		for i := range count {
			resize.apply(block[i*side*side*3:(i+1)*side*side*3], pixels[(start+i)*picture:(start+i+1)*picture])
		}
	})
}

// LPIPSRunner computes perceptual distances of pictures on the host. It is safe
// for concurrent use.
type LPIPSRunner struct{ runner *runner }

// NewLPIPSRunner prepares an LPIPS network on an engine.
func NewLPIPSRunner(backend compute.Backend, network *LPIPS) (*LPIPSRunner, error) {
	r, err := newRunner(backend, network.Variables(), 0, func(v weights.Vars, pictures []*graph.Node) *graph.Node {
		return network.Distance(v, pictures[0], pictures[1])
	})
	if err != nil {
		return nil, fmt.Errorf("preparing LPIPS over %s: %w", network.Name(), err)
	}
	return &LPIPSRunner{r}, nil
}

// Close releases the engine's memory.
func (l *LPIPSRunner) Close() { l.runner.close() }

// Distances returns the distance [n] of each of n pictures a [n, size, size, 3]
// to the same one of b. It fails on pictures below 32 x 32.
func (l *LPIPSRunner) Distances(ctx context.Context, a, b []uint8, n, size int) ([]float64, error) {
	if err := cmp.Or(checkPixels(a, n, size), checkPixels(b, n, size)); err != nil {
		return nil, err
	}
	if size < SmallestPicture {
		return nil, fmt.Errorf("LPIPS compares pictures of at least %d x %d, not %d x %d", SmallestPicture, SmallestPicture, size, size)
	}
	picture := size * size * 3
	values, err := l.runner.run(ctx, n, size, 2, func(argument, start, count int, block []float32) {
		source := [][]uint8{a, b}[argument][start*picture : (start+count)*picture]
		for i, value := range source {
			block[i] = float32(value) / 255
		}
	})
	if err != nil {
		return nil, err
	}
	distances := make([]float64, len(values))
	for i, value := range values {
		distances[i] = float64(value)
	}
	return distances, nil
}
