package vq

// idleShare is the share of the mean number of rows below which a code is idle.
const idleShare = 0.02

// reseed moves codes that are the first choice of hardly any row. Each becomes a
// neighbour of the code of largest error at its level, half way to the worst row that
// chose it. codes are encodings [n,copies,levels], of which the first count.
func (j *jointFit) reseed(rows Latents, codes []uint32, copies int) {
	levels, d := len(j.books), rows.Dim
	var rest Latents
	var squares []float64 // of rest; a row re-seeds one code
	for l, book := range j.books {
		if j.ctx.Err() != nil {
			return // the next sweep says so
		}
		counts := make([]int, j.config.Codes)
		for i := range rows.N {
			counts[codes[i*copies*levels+l]]++
		}
		var errors []float64
		for idle, count := range counts {
			if float64(count) > idleShare*float64(rows.N)/float64(len(counts)) {
				continue
			}
			if j.ctx.Err() != nil {
				return
			}
			if squares == nil {
				rest, squares = j.rest(rows, codes, copies)
			}
			if errors == nil {
				errors = make([]float64, len(counts))
				for i, square := range squares {
					errors[codes[i*copies*levels+l]] += square
				}
			}
			donor := largest(errors, func(int) bool { return true })
			worst := largest(squares, func(i int) bool { return int(codes[i*copies*levels+l]) == donor })
			if donor < 0 || worst < 0 || squares[worst] == 0 {
				break // every row is met exactly
			}
			for k, v := range rest.Row(worst) {
				book[idle*d+k] = book[donor*d+k] + v/2
			}
			errors[donor] /= 2 // two codes share it
			squares[worst] = 0
		}
	}
}

// largest returns the position of the largest value among those that count, -1 without one.
func largest(values []float64, counts func(i int) bool) int {
	best := -1
	for i, v := range values {
		if counts(i) && (best < 0 || v > values[best]) {
			best = i
		}
	}
	return best
}
