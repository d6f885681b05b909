package transform

import (
	"fmt"
	"sort"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/gritvq/gritvq/weights"
)

// neighbourBlock is how many rows of the distance matrix exist at a time.
const neighbourBlock = 256

// Neighbours returns the k nearest codes [K,k] of every code of codes [K,d]: the
// code itself, then the others by Euclidean distance (ties go to the lower index).
// It is exact: K² d multiplications, memory 256 K.
func Neighbours(codes *weights.Array, k int) (*weights.Array, error) {
	n, d := codes.Shape[0], codes.Shape[1]
	if k < 1 || k > n {
		return nil, fmt.Errorf("%d neighbours of %d codes: use 1 to %d", k, n, n)
	}
	half := make([]float32, n) // |e|²/2
	for i := range n {
		for _, x := range codes.Row(i) {
			half[i] += x * x / 2
		}
	}
	all := blas32.General{Rows: n, Cols: d, Stride: d, Data: codes.Data}
	products := make([]float32, neighbourBlock*n)
	out := weights.New(n, k)
	for first := 0; first < n; first += neighbourBlock {
		last := min(first+neighbourBlock, n)
		block := blas32.General{Rows: last - first, Cols: d, Stride: d, Data: codes.Data[first*d : last*d]}
		inner := blas32.General{Rows: last - first, Cols: n, Stride: n, Data: products[:(last-first)*n]}
		blas32.Gemm(blas.NoTrans, blas.Trans, 1, block, all, 0, inner)
		for i := first; i < last; i++ {
			// |e_j|²/2 - <e_i, e_j> orders j as |e_i - e_j| does.
			nearest(out.Row(i), i, func(j int) float32 { return half[j] - inner.Data[(i-first)*n+j] }, n)
		}
	}
	return out, nil
}

// nearest fills row with code self and then the codes of smallest distance, by
// insertion into a sorted list of len(row)-1.
func nearest(row []float32, self int, distance func(j int) float32, n int) {
	row[0] = float32(self)
	if len(row) == 1 {
		return
	}
	type candidate struct {
		code     int
		distance float32
	}
	best := make([]candidate, 0, len(row))
	for j := range n {
		if j == self {
			continue
		}
		dist := distance(j)
		if len(best) == len(row)-1 && !(dist < best[len(best)-1].distance) {
			continue
		}
		at := sort.Search(len(best), func(i int) bool { return dist < best[i].distance })
		if len(best) < len(row)-1 {
			best = append(best, candidate{})
		}
		copy(best[at+1:], best[at:])
		best[at] = candidate{j, dist}
	}
	for i, b := range best {
		row[i+1] = float32(b.code)
	}
}
