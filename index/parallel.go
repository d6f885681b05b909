package index

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// forBlocks calls work on consecutive ranges [from, to) of at most block rows
// that together cover [0, n), from up to workers goroutines (GOMAXPROCS if
// workers <= 0). work must not depend on how the rows are split.
func forBlocks(n, block, workers int, work func(from, to int)) {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if share := (n + workers - 1) / workers; share < block {
		block = max(groupRows, (share+groupRows-1)/groupRows*groupRows)
	}
	blocks := (n + block - 1) / block
	var next atomic.Int64
	run := func() {
		for {
			b := int(next.Add(1)) - 1
			if b >= blocks {
				return
			}
			work(b*block, min((b+1)*block, n))
		}
	}
	var group sync.WaitGroup
	for range min(workers, blocks) - 1 {
		group.Go(run)
	}
	run()
	group.Wait()
}
