package vq

import (
	"math"
	"slices"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/weights"
)

// jointFit fits the codes of all levels of one part together. Rows are centred, so
// that shrunk codes go to the mean; it returns in the codes of the first level.
type jointFit struct {
	*Fitting
	plan   jointPlan
	config Config
	sample Latents     // centred
	mean   []float64   // [d]
	books  [][]float32 // [levels][K,d]
	ridge  []float64   // [levels] shrinkage of the last sweep
	error  float64     // mean squared error of a row in the last sweep
}

func newJointFit(f *Fitting, p jointPlan, c Config, sample Latents) *jointFit {
	j := &jointFit{Fitting: f, plan: p, config: c, sample: sample.clone(), mean: make([]float64, sample.Dim),
		ridge: make([]float64, c.Levels)}
	for i, x := range sample.Rows {
		j.mean[i%sample.Dim] += float64(x) / float64(sample.N)
	}
	for i := range j.sample.Rows {
		j.sample.Rows[i] -= float32(j.mean[i%sample.Dim])
	}
	return j
}

// restNumbers bounds what is left of all encodings of rows.
const restNumbers = 32 << 20

// addLevel appends cluster centres of what the levels so far leave of the rows.
func (j *jointFit) addLevel(seed uint64) error {
	k, rest, d := j.config.Codes, j.sample.first(rqRows*j.config.Codes), j.sample.Dim
	if len(j.books) > 0 {
		copies := min(j.plan.survivors, j.config.Beam)
		most := rqRows * k
		if !j.plan.close {
			most = max(2*k, min(most, restNumbers/d))
		}
		rows := j.sample.first(max(most/copies, 1))
		codes, gaps, err := j.survivors(rows, copies)
		if err != nil {
			return err
		}
		var squares []float64
		rest, squares = j.rest(rows, codes, copies)
		for i, gap := range gaps { // other encodings than the best
			at := i / copies
			limit := math.Inf(1)
			if j.plan.close {
				limit = squares[at]
			}
			if i%copies > 0 && float64(gap) < limit {
				more, _ := j.rest(Latents{Rows: rows.Row(at), N: 1, Dim: d}, codes[i*len(j.books):], 1)
				rest.Rows = append(rest.Rows, more.Rows...)
			}
		}
		rest.N = len(rest.Rows) / d
	}
	centers, err := j.cluster(rest, k, seed)
	if err != nil {
		return err
	}
	j.books = append(j.books, centers)
	return nil
}

func (j *jointFit) codes() ([]*index.Codes, error) {
	levels := make([]*index.Codes, len(j.books))
	for l, book := range j.books {
		var err error
		if levels[l], err = index.NewCodes(book, j.config.Codes, j.sample.Dim); err != nil {
			return nil, err
		}
	}
	return levels, nil
}

// survivors returns the best encodings [n,count,levels] that a beam finds for rows, and
// by how much their errors exceed the best. Where the tables of products would be too
// large, all are the best one, and the gaps of the others are infinite.
func (j *jointFit) survivors(rows Latents, count int) (codes []uint32, gaps []float32, err error) {
	books, err := j.codes()
	if err != nil {
		return nil, nil, err
	}
	levels := len(books)
	codes, gaps = make([]uint32, rows.N*count*levels), make([]float32, rows.N*count)
	if index.TablesFit(j.config.Codes, levels) {
		stack, err := index.NewAdditive(books...)
		if err == nil {
			err = stack.Survivors(j.ctx, rows.Rows, rows.N, j.config.Beam, count, codes, gaps, 0)
		}
		return codes, gaps, err
	}
	stack, err := index.NewResidual(books...)
	if err != nil {
		return nil, nil, err
	}
	best := make([]uint32, rows.N*levels)
	for from := 0; from < rows.N; from += searchRows {
		if err := j.ctx.Err(); err != nil {
			return nil, nil, err
		}
		n := min(searchRows, rows.N-from)
		stack.Encode(rows.Rows[from*rows.Dim:], n, 0, j.config.Beam, best[from*levels:], 0)
	}
	for i := range gaps {
		copy(codes[i*levels:(i+1)*levels], best[i/count*levels:])
		if i%count > 0 {
			gaps[i] = float32(math.Inf(1))
		}
	}
	return codes, gaps, nil
}

// refit moves all codes to the shrunk centroids of weighted encodings, in passes over the
// levels, and returns the squares of what is left by coordinate.
func (j *jointFit) refit(rows Latents, codes []uint32, weight []float32, passes int) ([]float64, error) {
	left, err := index.Refit(j.ctx, rows.Rows, rows.N, rows.Dim, codes, weight, j.books, j.ridges(codes, weight), passes, 0)
	if err != nil {
		return nil, err
	}
	j.error = 0
	for _, square := range left {
		j.error += square / float64(rows.N)
	}
	return left, nil
}

// ridges returns the shrinkage of every level, in rows: Start.Shrink, but no more than
// the ratio of the noise in a row to the variance of the level's codes, beyond which a
// mean of noisy rows is shrunk too much. The noise is the error, which is too small
// where codes are many beside rows: every code takes up one row. It does not count what the last shrinkage left of the
// rows of a code, (ridge c / count)² each; otherwise shrinkage would feed on itself where most codes have one row. The
// largest of the levels counts, because their shares overlap. The variance is the
// expected one: a code's square and its uncertainty noise/(count + ridge).
func (j *jointFit) ridges(codes []uint32, weight []float32) []float64 {
	const leastFree = 0.1 // share of the rows that codes do not take up, at least
	levels, d := len(j.books), j.sample.Dim
	total := 0.0
	for _, w := range weight {
		total += float64(w)
	}
	counts, shrinking := make([][]float64, levels), 0.0
	for l, book := range j.books {
		counts[l] = make([]float64, j.config.Codes)
		for i, w := range weight {
			counts[l][codes[i*levels+l]] += float64(w)
		}
		own := 0.0
		for code, count := range counts[l] {
			if count == 0 {
				continue
			}
			for _, v := range book[code*d : (code+1)*d] {
				own += float64(v) * float64(v) / count
			}
		}
		shrinking = max(shrinking, own*j.ridge[l]*j.ridge[l]/total)
	}
	noise := max(0, j.error-shrinking) / max(leastFree, 1-float64(levels*j.config.Codes)/total)
	for l, book := range j.books {
		variance := 0.0
		for code, count := range counts[l] {
			if count == 0 {
				continue
			}
			square := noise / (count + j.ridge[l])
			for _, v := range book[code*d : (code+1)*d] {
				square += float64(v) * float64(v)
			}
			variance += count / total * square
		}
		j.ridge[l] = 0
		if variance > 0 {
			j.ridge[l] = min(j.config.Start.Shrink, noise/variance)
		}
	}
	return j.ridge
}

// rest returns what the first of the encodings [n,copies,levels] leave of rows, and
// the squared length of each.
func (j *jointFit) rest(rows Latents, codes []uint32, copies int) (Latents, []float64) {
	rest, squares, levels := rows.clone(), make([]float64, rows.N), len(j.books)
	for i := range rows.N {
		row := rest.Row(i)
		for l, code := range codes[i*copies*levels : (i*copies+1)*levels] {
			for k, v := range j.books[l][int(code)*rows.Dim : (int(code)+1)*rows.Dim] {
				row[k] -= v
			}
		}
		for _, v := range row {
			squares[i] += float64(v) * float64(v)
		}
	}
	return rest, squares
}

// variables returns the codes with the mean, as [Quantizer] Init names them.
func (j *jointFit) variables() weights.Set {
	set := weights.Set{}
	for l, book := range j.books {
		codes := &weights.Array{Shape: []int{j.config.Codes, j.sample.Dim}, Data: slices.Clone(book)}
		if l == 0 {
			for i := range codes.Data {
				codes.Data[i] += float32(j.mean[i%j.sample.Dim])
			}
		}
		set[levelPath(l)+"/"+CodesPath] = codes
	}
	return set
}
