package vectors

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/gritvq/gritvq/dataset"
)

// Stats summarises vectors.
type Stats struct {
	// Mean and Variance [Dim] are over the finite rows; the variance divides
	// by their number.
	Mean, Variance []float64
	// Fingerprint equals Vectors.Fingerprint, over all rows.
	Fingerprint string
}

// NonFiniteError reports rows that cannot be trained on or encoded.
type NonFiniteError struct {
	Path  string
	Row   int // the first such row
	Count int // how many there are
}

func (e *NonFiniteError) Error() string {
	rows := "rows"
	if e.Count == 1 {
		rows = "row"
	}
	return fmt.Sprintf("row %d of %s holds NaN or Inf (%d such %s); clean the file or pass --drop-nonfinite", e.Row, e.Path, e.Count, rows)
}

// Scan reads every row once, in parallel, and returns statistics that depend
// on the content alone, not on the number of workers. progress, if not nil, is
// called from one goroutine at a time. When rows hold NaN or Inf the error is
// a *NonFiniteError and the statistics are complete nevertheless.
func (v *Vectors) Scan(ctx context.Context, progress func(done, total int)) (Stats, error) {
	hasher := v.newFingerprinter()
	total := moments{firstBad: -1}
	err := overBlocks(ctx, v, v.allBlocks(),
		func(start int, values []float32) blockSummary {
			summary := blockSummary{moments: momentsOf(start, values, v.dim)}
			if hasher.wants(start / v.blockRows()) {
				summary.digest = sha256Of(values)
			}
			return summary
		},
		func(start int, summary blockSummary) {
			total.merge(summary.moments)
			if hasher.wants(start / v.blockRows()) {
				hasher.add(summary.digest)
			}
			if progress != nil {
				progress(min(v.rows, start+v.blockRows()), v.rows)
			}
		})
	if err != nil {
		return Stats{}, err
	}
	stats := total.stats(v.dim)
	stats.Fingerprint = hasher.sum()
	v.rememberFingerprint(stats.Fingerprint)
	if total.bad > 0 {
		return stats, &NonFiniteError{Path: v.path, Row: total.firstBad, Count: total.bad}
	}
	return stats, nil
}

// Moments returns the mean and the variance of the selected rows, by dimension.
func (v *Vectors) Moments(ctx context.Context, rows dataset.Selection) (mean, variance []float64, err error) {
	total := moments{firstBad: -1}
	block := make([]int, 0, v.blockRows())
	values := make([]float32, min(v.blockRows(), rows.Len())*v.dim)
	for first := 0; first < rows.Len(); first += len(block) {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		block = block[:0]
		for i := first; i < min(first+v.blockRows(), rows.Len()); i++ {
			block = append(block, rows.At(i))
		}
		part := values[:len(block)*v.dim]
		if err := v.Gather(block, part); err != nil {
			return nil, nil, err
		}
		total.merge(momentsOf(first, part, v.dim))
	}
	stats := total.stats(v.dim)
	return stats.Mean, stats.Variance, nil
}

// blockSummary is the result of Scan for one block.
type blockSummary struct {
	moments
	digest [sha256.Size]byte
}

// moments are the mergeable parts of Stats: counts, means and sums of squared
// deviations.
type moments struct {
	count, bad, firstBad int       // finite rows, others and the first of these
	mean, deviation      []float64 // per dimension
}

// momentsOf takes the moments of one block in two passes, which lose no digits
// however far the mean is from zero.
func momentsOf(start int, values []float32, dim int) moments {
	m := moments{firstBad: -1, mean: make([]float64, dim), deviation: make([]float64, dim)}
	var finite [][]float32
	for i := range len(values) / dim {
		row := values[i*dim : (i+1)*dim]
		// A sum of float32 squares cannot overflow float64, so this is NaN or
		// Inf exactly if a component is.
		if sum := sumOfSquares(row); sum-sum != 0 {
			if m.bad++; m.firstBad < 0 {
				m.firstBad = start + i
			}
			continue
		}
		finite = append(finite, row)
		for j, x := range row {
			m.mean[j] += float64(x)
		}
	}
	m.count = len(finite)
	for j := range m.mean {
		m.mean[j] /= float64(max(1, m.count))
	}
	for _, row := range finite {
		for j, x := range row {
			d := float64(x) - m.mean[j]
			m.deviation[j] += d * d
		}
	}
	return m
}

// merge adds the moments of rows that follow (Chan, Golub and LeVeque 1979).
func (m *moments) merge(next moments) {
	m.bad += next.bad
	if m.firstBad < 0 {
		m.firstBad = next.firstBad
	}
	if next.count == 0 {
		return
	}
	if m.count == 0 {
		next.bad, next.firstBad = m.bad, m.firstBad
		*m = next
		return
	}
	n := float64(m.count + next.count)
	share, cross := float64(next.count)/n, float64(m.count)*float64(next.count)/n
	for j, mean := range next.mean {
		d := mean - m.mean[j]
		m.mean[j] += d * share
		m.deviation[j] += next.deviation[j] + d*d*cross
	}
	m.count += next.count
}

func (m *moments) stats(dim int) Stats {
	s := Stats{Mean: make([]float64, dim), Variance: make([]float64, dim)}
	if m.count == 0 {
		return s
	}
	copy(s.Mean, m.mean)
	for j := range s.Variance {
		s.Variance[j] = m.deviation[j] / float64(m.count)
	}
	return s
}

func sumOfSquares(row []float32) float64 {
	sum := 0.0
	for _, x := range row {
		sum += float64(x) * float64(x)
	}
	return sum
}
