package index

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// blockRows is the largest number of rows of a worker's block: a panel is reused
// from the first-level cache, packed rows and states stay in the second.
const blockRows = 128

// Nearest writes the nearest code of every row of x [n,d] to index [n] and, unless
// dist is nil, its squared distance to dist [n]. Ties go to the lowest code; a row
// with a NaN or an infinity gets code 0 and distance NaN. Rows are shared among
// workers goroutines (GOMAXPROCS if <= 0) and do not influence each other. Nearest
// panics if a slice is too short.
func (c *Codes) Nearest(x []float32, n int, index []uint32, dist []float32, workers int) {
	if n < 0 || len(x) < n*c.d || len(index) < n || dist != nil && len(dist) < n {
		panic(fmt.Sprintf("index: Nearest of %d rows of %d got slices of length %d (x), %d (index), %d (dist)",
			n, c.d, len(x), len(index), len(dist)))
	}
	_ = c.nearest(context.Background(), x, n, index, dist, workers)
}

// nearest is Nearest until ctx ends.
func (c *Codes) nearest(ctx context.Context, x []float32, n int, index []uint32, dist []float32, workers int) error {
	return forBlocksUntil(ctx, n, blockRows, workers, func(from, to int) {
		s := takeScratch(to-from, c.d)
		defer s.release()
		c.nearestBlock(s, x[from*c.d:to*c.d], index[from:to], slice(dist, from, to))
	})
}

type scratch struct {
	groups  []float32    // [groups, d, groupRows] centred, negated rows
	squares []float32    // [groups*groupRows] squared lengths of the centred rows
	states  []groupState // [groups]
}

var scratchPool = sync.Pool{New: func() any { return new(scratch) }}

func takeScratch(rows, d int) *scratch {
	s := scratchPool.Get().(*scratch)
	groups := (rows + groupRows - 1) / groupRows
	s.groups = resized(s.groups, groups*d*groupRows)
	s.squares = resized(s.squares, groups*groupRows)
	s.states = resized(s.states, groups)
	return s
}

func (s *scratch) release() { scratchPool.Put(s) }

// resized returns a slice of length n, reusing s where it is large enough.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// slice is s[from:to], or nil of a nil s.
func slice(s []float32, from, to int) []float32 {
	if s == nil {
		return nil
	}
	return s[from:to]
}

// nearestBlock searches the rows of x, at most the capacity of s.
func (c *Codes) nearestBlock(s *scratch, x []float32, index []uint32, dist []float32) {
	rows := len(index)
	c.packRows(s, x, rows)
	groups := (rows + groupRows - 1) / groupRows
	for g := range groups {
		s.states[g] = emptyState
	}
	size := c.d * groupRows
	for p := range c.panelCount() {
		panel, half := c.panel(p)
		for g := range groups {
			c.kernel.nearest(panel, half, s.groups[g*size:(g+1)*size], int32(p*panelCodes), &s.states[g])
		}
	}
	for i := range rows {
		row := x[i*c.d : (i+1)*c.d]
		code, distance, _ := c.settle(&s.states[i/groupRows], i%groupRows, row, c.rowNorm(s.squares[i]), dist != nil)
		index[i] = code
		if dist != nil {
			dist[i] = float32(distance)
		}
	}
}

var emptyState = func() (s groupState) {
	for r := range groupRows {
		for lane := range lanes {
			s.best[r][lane], s.second[r][lane] = float32(math.Inf(1)), float32(math.Inf(1))
		}
	}
	return s
}()

// rowNorm bounds the length of a centred row given its squared length in float32,
// which may have lost squares below the normal range.
func (c *Codes) rowNorm(square float32) float64 {
	const lost = 1.2e-38
	return 1.001 * math.Sqrt(float64(square)+float64(c.d)*lost)
}

// packRows writes mean - x, interleaved in groups of groupRows, and the squared
// lengths, rounded after every operation: the same everywhere. The last group is
// filled up with its last row.
func (c *Codes) packRows(s *scratch, x []float32, rows int) {
	d := c.d
	for first := 0; first < rows; first += groupRows {
		group := s.groups[first*d : (first+groupRows)*d]
		for r := 0; r < groupRows; r += 4 {
			at := func(i int) []float32 {
				i = min(first+r+i, rows-1)
				return x[i*d : (i+1)*d][:len(c.mean)]
			}
			x0, x1, x2, x3 := at(0), at(1), at(2), at(3)
			var s0, s1, s2, s3 float32
			out := group[r:]
			for j, m := range c.mean {
				v0, v1, v2, v3 := m-x0[j], m-x1[j], m-x2[j], m-x3[j]
				*(*[4]float32)(out[j*groupRows:]) = [4]float32{v0, v1, v2, v3}
				s0 += float32(v0 * v0)
				s1 += float32(v1 * v1)
				s2 += float32(v2 * v2)
				s3 += float32(v3 * v3)
			}
			*(*[4]float32)(s.squares[first+r:]) = [4]float32{s0, s1, s2, s3}
		}
	}
}

// forBlocks calls work on ranges [from, to) of at most block rows that cover [0, n),
// from up to workers goroutines (GOMAXPROCS if <= 0). Results must not depend on
// the split.
func forBlocks(n, block, workers int, work func(from, to int)) {
	_ = forBlocksUntil(context.Background(), n, block, workers, work)
}

// forBlocksUntil is forBlocks that begins no further range once ctx has ended.
func forBlocksUntil(ctx context.Context, n, block, workers int, work func(from, to int)) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if share := (n + workers - 1) / workers; share < block {
		block = max(groupRows, (share+groupRows-1)/groupRows*groupRows)
	}
	return eachUntil(ctx, (n+block-1)/block, workers, func(b int) { work(b*block, min((b+1)*block, n)) })
}

// each calls work on 0 to n-1 from up to workers goroutines (GOMAXPROCS if <= 0).
func each(n, workers int, work func(i int)) { _ = eachUntil(context.Background(), n, workers, work) }

// eachUntil is each that begins no further call once ctx has ended, whose error it returns.
func eachUntil(ctx context.Context, n, workers int, work func(i int)) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	run := func() {
		for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
			work(i)
		}
	}
	var group sync.WaitGroup
	for range min(workers, n) - 1 {
		group.Go(run)
	}
	run()
	group.Wait()
	return ctx.Err()
}
