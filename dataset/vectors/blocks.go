package vectors

import (
	"context"
	"runtime"
	"sync"
)

// blockBytes is the size of the float32 blocks that passes over all rows work
// on. Results are combined block by block, so changing it changes fingerprints
// and the last bits of statistics.
const blockBytes = 1 << 20

// blockRows is the number of rows in every block but the last.
func (v *Vectors) blockRows() int { return max(1, blockBytes/(4*v.dim)) }

// blockCount is the number of blocks all rows make.
func (v *Vectors) blockCount() int { return (v.rows + v.blockRows() - 1) / v.blockRows() }

// overBlocks reads the given blocks in parallel, applies work to each, and
// merges the results one at a time in the given order, so that sums do not
// depend on the number of workers. work gets the block's first row and its
// values [rows*Dim], which it must not keep.
func overBlocks[R any](ctx context.Context, v *Vectors, blocks []int, work func(start int, values []float32) R,
	merge func(start int, result R)) error {
	workers := min(runtime.GOMAXPROCS(0), len(blocks))
	perBlock := v.blockRows()
	// A wave bounds how many results wait for their turn.
	wave := 8 * workers
	results := make([]R, wave)
	errs := make([]error, wave)
	buffers := make([][]float32, workers)
	for i := range buffers {
		buffers[i] = make([]float32, min(perBlock, v.rows)*v.dim)
	}
	for first := 0; first < len(blocks); first += wave {
		part := blocks[first:min(len(blocks), first+wave)]
		var group sync.WaitGroup
		for w := range workers {
			group.Go(func() {
				for i := w; i < len(part); i += workers {
					if errs[i] = ctx.Err(); errs[i] != nil {
						continue
					}
					start := part[i] * perBlock
					n := min(perBlock, v.rows-start)
					values := buffers[w][:n*v.dim]
					if errs[i] = v.Rows(start, n, values); errs[i] == nil {
						results[i] = work(start, values)
					}
				}
			})
		}
		group.Wait()
		for i := range part {
			if errs[i] != nil {
				return errs[i]
			}
			merge(part[i]*perBlock, results[i])
		}
	}
	return nil
}

// allBlocks lists every block in order.
func (v *Vectors) allBlocks() []int {
	blocks := make([]int, v.blockCount())
	for i := range blocks {
		blocks[i] = i
	}
	return blocks
}
