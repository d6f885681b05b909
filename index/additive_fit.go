package index

import (
	"context"
	"fmt"
)

// refitColumns is the number of coordinates that a worker refits together. Coordinates do not influence each other.
const refitColumns = 32

// Refit moves the codes of all levels, books [levels][k,d], in place towards the
// minimum, for given encodings [n,copies,levels] of the rows of x [n,d], of
//
//	sum_i sum_b weight_ib |x_i - sum_l c_l|^2 + sum_l ridge_l sum |c_l|^2
//
// One level after the other moves to its minimum: sum/(count + ridge_l) over the rows
// less the codes of the other levels. rounds is the number of passes over the levels.
// No pass raises the sum. Codes without rows stay. weights is [n,copies]; encodings
// of weight 0 are ignored. It returns the first sum by coordinate, [d], fails if ctx ends
// first, and panics if a slice is too short. The result does not depend on workers.
func Refit(ctx context.Context, x []float32, n, d int, codes []uint32, weights []float32, books [][]float32, ridge []float64,
	rounds, workers int) ([]float64, error) {
	levels, copies := len(books), len(weights)/max(1, n)
	if len(x) < n*d || len(codes) < n*copies*levels {
		panic(fmt.Sprintf("index: Refit of %d rows of %d in %d copies at %d levels got %d numbers and %d codes",
			n, d, copies, levels, len(x), len(codes)))
	}
	task := refitting{d: d, books: books, counts: make([][]float64, levels)}
	for l, book := range books {
		task.counts[l] = make([]float64, len(book)/d)
	}
	for i, weight := range weights {
		if weight == 0 {
			continue
		}
		task.rows, task.weights = append(task.rows, i/copies), append(task.weights, weight)
		encoding := codes[i*levels : (i+1)*levels]
		task.codes = append(task.codes, encoding...)
		for l, code := range encoding {
			task.counts[l][code] += float64(weight)
		}
	}
	left := make([]float64, d)
	err := eachUntil(ctx, (d+refitColumns-1)/refitColumns, workers, func(column int) {
		r := task
		r.first = column * refitColumns
		r.width = min(refitColumns, d-r.first)
		r.begin(x)
		for range rounds {
			for l := range books {
				if ctx.Err() != nil {
					return
				}
				r.move(l, ridge[l])
			}
		}
		r.finish(left[r.first : r.first+r.width])
	})
	return left, err
}

// refitting is the work on columns first to first+width.
type refitting struct {
	d, first, width int
	rows            []int       // [m] row of every encoding
	codes           []uint32    // [m,levels]
	weights         []float32   // [m]
	books           [][]float32 // [levels][k,d]
	counts          [][]float64 // [levels][k] weights of the codes' rows

	rest  []float32 // [m,width] rows less their codes
	moved int       // level whose moves are not yet in rest; -1: none
	moves []float32 // [k,width]
	sums  []float64 // [k,width]
}

func (r *refitting) row(l int, code uint32) []float32 {
	from := int(code)*r.d + r.first
	return r.books[l][from : from+r.width]
}

func (r *refitting) begin(x []float32) {
	levels := len(r.books)
	r.moved = -1
	r.rest = make([]float32, len(r.rows)*r.width)
	for i, row := range r.rows {
		rest := r.rest[i*r.width : (i+1)*r.width]
		copy(rest, x[row*r.d+r.first:])
		for l, code := range r.codes[i*levels : (i+1)*levels] {
			subtract(rest, rest, r.row(l, code))
		}
	}
}

// left returns what is left of encoding i, with the last moves.
func (r *refitting) left(i int) []float32 {
	w := r.width
	rest := r.rest[i*w : (i+1)*w]
	if r.moved >= 0 {
		code := int(r.codes[i*len(r.books)+r.moved])
		subtract(rest, rest, r.moves[code*w:(code+1)*w])
	}
	return rest
}

// move takes level l to its minimum: c + (sum of rest - ridge c) / (count + ridge).
func (r *refitting) move(l int, ridge float64) {
	levels, w, counts := len(r.books), r.width, r.counts[l]
	r.sums = resized(r.sums, len(counts)*w)
	clear(r.sums)
	for i, weight := range r.weights {
		code := int(r.codes[i*levels+l])
		sum := r.sums[code*w : (code+1)*w]
		for j, v := range r.left(i)[:len(sum)] {
			sum[j] += float64(weight * v)
		}
	}
	r.moved, r.moves = l, resized(r.moves, len(r.sums))
	clear(r.moves)
	for code, count := range counts {
		if count == 0 {
			continue
		}
		row := r.row(l, uint32(code))
		for j, v := range row {
			at := code*w + j
			row[j] = float32(float64(v) + (r.sums[at]-ridge*float64(v))/(count+ridge))
			r.moves[at] = row[j] - v
		}
	}
}

// finish writes the weighted squares of what is left, by column.
func (r *refitting) finish(squares []float64) {
	for i, weight := range r.weights {
		for j, v := range r.left(i) {
			squares[j] += float64(weight) * float64(v) * float64(v)
		}
	}
}
