package classical

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/parallel"
)

const (
	pivotRows = 256  // rows of a pivot block
	tileRows  = 128  // rows that a goroutine updates at a time
	tileCols  = 1024 // and columns, whose products fit the cache
)

// invert replaces a symmetric positive definite matrix a [n,n] by its inverse, in
// place, with n^3 multiplications on all cores. It sweeps block by block: for pivot
// rows K and all others R
//
//	A_KK <- -A_KK^-1,  A_RK <- A_RK A_KK^-1,  A_RR <- A_RR - A_RK A_KK^-1 A_KR,
//
// which leaves -A^-1 once every block was a pivot. Only the lower triangle of a is
// read. The pivots are inverted in float64, the products are in float32: the relative
// error is about 1e-7 times the condition number of a. progress counts done rows.
func invert(ctx context.Context, a []float32, n int, progress func(rows int)) error {
	panel, scaled := make([]float32, n*pivotRows), make([]float32, n*pivotRows)
	for first := 0; first < n; first += pivotRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		width := min(pivotRows, n-first)
		pivot, err := invertPivot(a, n, first, width)
		if err != nil {
			return err
		}
		columns, products := panel[:n*width], scaled[:n*width] // A_RK and A_RK A_KK^-1; zero for rows of K
		for r := range n {
			own := columns[r*width : (r+1)*width]
			switch {
			case r < first:
				for k := range own {
					own[k] = a[(first+k)*n+r]
				}
			case r < first+width:
				clear(own)
			default:
				copy(own, a[r*n+first:])
			}
		}
		tiles := (n + tileRows - 1) / tileRows
		rowsOf := func(tile int) (from, to int) { return tile * tileRows, min(n, (tile+1)*tileRows) }
		if err := parallel.Each(tiles, 0, func(tile int) error {
			from, to := rowsOf(tile)
			index.Products(columns[from*width:to*width], to-from, pivot, width, width, products[from*width:to*width])
			return nil
		}); err != nil {
			return err
		}
		if err := parallel.Each(tiles, 0, func(tile int) error {
			from, to := rowsOf(tiles - 1 - tile) // the longest rows first
			subtractProducts(a, n, from, to, products, columns, width)
			return nil
		}); err != nil {
			return err
		}
		for r := range n { // the rows and columns of the pivot
			switch {
			case r < first:
				for k := range width {
					a[(first+k)*n+r] = products[r*width+k]
				}
			case r < first+width:
				for k := range width {
					a[r*n+first+k] = -pivot[(r-first)*width+k]
				}
			default:
				copy(a[r*n+first:r*n+first+width], products[r*width:(r+1)*width])
			}
		}
		progress(first + width)
	}
	for r := range n {
		for c := range r + 1 {
			a[r*n+c] = -a[r*n+c]
			a[c*n+r] = a[r*n+c]
		}
	}
	return nil
}

// invertPivot inverts the block of a at first, [width,width].
func invertPivot(a []float32, n, first, width int) ([]float32, error) {
	block := mat.NewSymDense(width, nil)
	for r := range width {
		for c := range r + 1 {
			block.SetSym(r, c, float64(a[(first+r)*n+first+c]))
		}
	}
	var chol mat.Cholesky
	var inverse mat.SymDense
	if !chol.Factorize(block) || chol.InverseTo(&inverse) != nil {
		return nil, fmt.Errorf("the matrix of items taken together is singular at item %d: choose a larger l2", first)
	}
	out := make([]float32, width*width)
	for r := range width {
		for c := range width {
			out[r*width+c] = float32(inverse.At(r, c))
		}
	}
	return out, nil
}

// subtractProducts takes <x_r, y_c> off the elements a_rc, c <= r, of rows from to to.
func subtractProducts(a []float32, n, from, to int, x, y []float32, width int) {
	block := make([]float32, (to-from)*tileCols)
	for left := 0; left < to; left += tileCols {
		right := min(to, left+tileCols)
		out := block[:(to-from)*(right-left)]
		index.Products(x[from*width:to*width], to-from, y[left*width:right*width], right-left, width, out)
		for r := from; r < to; r++ {
			own := a[r*n+left : r*n+min(right, r+1)]
			for c, x := range out[(r-from)*(right-left):][:len(own)] {
				own[c] -= x
			}
		}
	}
}
