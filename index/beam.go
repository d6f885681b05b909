package index

import (
	"math"
	"math/bits"
	"slices"
)

// beamMemory is the working memory of a beam search over a block of rows. The
// hypotheses of row i are numbers i*alive to (i+1)*alive-1.
type beamMemory struct {
	search         *scratch
	residual, next []float32   // [rows*width,d]
	paths, longer  []uint32    // [rows*width,levels] codes so far
	scores         []float32   // [groupRows, packed codes of the level]
	picks          []candidate // [rows,width] best continuations of each row
	filled         []int       // [rows] number of picks
	decoded        []float32   // [d]
}

type candidate struct {
	error  float32
	parent int32
	code   int32
}

// Survivors writes to out [n,beam,levels] the encodings that a beam search of the
// rows of x [n,d] ends with, by rising error up to rounding; where there are fewer
// than beam, the last is repeated. A further level is fitted on them. It panics if
// beam is not positive or a slice is too short.
func (q *Residual) Survivors(x []float32, n, beam int, out []uint32, workers int) {
	levels := len(q.levels)
	if beam < 1 {
		panic("index: Survivors of an empty beam")
	}
	checkLengths("Residual.Survivors", len(x), n*q.d, len(out), n*beam*levels, n)
	forBlocks(n, encodeRows(beam), workers, func(from, to int) {
		e := takeEncoding(to-from, q.d, levels)
		defer e.release()
		copy(e.x, x[from*q.d:to*q.d])
		alive := q.searchBeam(e, beam)
		for i := from; i < to; i++ {
			for b := range beam {
				path := (i-from)*alive + min(b, alive-1)
				copy(out[(i*beam+b)*levels:(i*beam+b+1)*levels], e.beam.paths[path*levels:])
			}
		}
	})
}

// searchBeam leaves in e.beam.paths [rows,alive,levels] the encodings that a beam
// of the given width ends with, and returns alive.
//
// Each level scores every code against every residual r by kernel.scores, equal to
// the bit everywhere: with r and c centred on the codebook's mean, the error is
// |r|^2 + 2 (|c|^2/2 - <r,c>). Residuals, instead of tables of products between
// codebooks, keep the cancellation small and the memory linear.
func (q *Residual) searchBeam(e *encoding, width int) int {
	m := &e.beam
	d, levels := q.d, e.levels
	m.residual = resized(m.residual, e.rows*width*d)
	m.next = resized(m.next, e.rows*width*d)
	m.paths = resized(m.paths, e.rows*width*levels)
	m.longer = resized(m.longer, e.rows*width*levels)
	m.picks = resized(m.picks, e.rows*width)
	m.filled = resized(m.filled, e.rows)
	m.decoded = resized(m.decoded, d)
	copy(m.residual, e.x)
	alive := 1
	for l, codes := range q.levels[:levels] {
		grown := min(width, alive*len(codes.source))
		q.pickContinuations(e, codes, alive, grown)
		last := l == levels-1
		for i := range e.rows {
			for b := range grown {
				pick := m.picks[i*width+min(b, max(0, m.filled[i]-1))]
				if m.filled[i] == 0 { // no score is finite
					pick = candidate{}
				}
				from, to := i*alive+int(pick.parent), i*grown+b
				code := codes.source[pick.code]
				path := m.longer[to*levels : (to+1)*levels]
				copy(path[:l], m.paths[from*levels:])
				path[l] = code
				if !last {
					subtract(m.next[to*d:(to+1)*d], m.residual[from*d:(from+1)*d], codes.Row(int(code)))
				}
			}
		}
		m.residual, m.next = m.next, m.residual
		m.paths, m.longer = m.longer, m.paths
		alive = grown
	}
	return alive
}

// pickContinuations fills m.picks with the grown best continuations of each row.
func (q *Residual) pickContinuations(e *encoding, codes *Codes, alive, grown int) {
	m := &e.beam
	d, stride, width := q.d, len(codes.half), len(m.picks)/e.rows
	hypotheses := e.rows * alive
	m.search = takeScratch(hypotheses, d)
	defer m.search.release()
	codes.packRows(m.search, m.residual[:hypotheses*d], hypotheses)
	m.scores = resized(m.scores, groupRows*stride)
	clear(m.filled)
	for first := 0; first < hypotheses; first += groupRows {
		group := m.search.groups[first*d : (first+groupRows)*d]
		for p := range codes.panelCount() {
			panel, half := codes.panel(p)
			codes.kernel.scores(panel, half, group, m.scores[p*panelCodes:], stride)
		}
		for r := range min(groupRows, hypotheses-first) {
			h := first + r
			row := h / alive
			picks := m.picks[row*width : row*width+grown]
			scores := m.scores[r*stride : (r+1)*stride]
			m.filled[row] = codes.kernel.merge(picks, m.filled[row], scores, m.search.squares[h], int32(h%alive))
		}
	}
}

// merge adds the continuations of one hypothesis to the first filled picks, sorted
// by error, then by arrival, and returns their new number. energy is |r|^2.
func (k *kernel) merge(picks []candidate, filled int, scores []float32, energy float32, parent int32) int {
	worst := float32(math.Inf(1)) // error that a newcomer must be below
	if filled == len(picks) {
		worst = picks[filled-1].error
	}
	for first := 0; first < len(scores); first += panelCodes {
		for low := k.below((*[panelCodes]float32)(scores[first:]), energy, worst); low != 0; low &= low - 1 {
			code := first + bits.TrailingZeros32(low)
			total := energy + 2*scores[code]
			if total >= worst {
				continue
			}
			if filled < len(picks) {
				filled++
			}
			at := filled - 1
			for ; at > 0 && total < picks[at-1].error; at-- {
				picks[at] = picks[at-1]
			}
			picks[at] = candidate{error: total, parent: parent, code: int32(code)}
			if filled == len(picks) {
				worst = picks[filled-1].error
			}
		}
	}
	return filled
}

// chooseBest replaces the codes of row i by the path of smallest squared error, if
// that is smaller than theirs. paths is [alive,levels].
func (q *Residual) chooseBest(e *encoding, i int, paths []uint32) {
	x := e.x[i*q.d : (i+1)*q.d]
	best := e.codes[i*e.levels : (i+1)*e.levels]
	least := q.squaredError(x, best, e.beam.decoded)
	for ; len(paths) > 0; paths = paths[e.levels:] {
		path := paths[:e.levels]
		s := q.squaredError(x, path, e.beam.decoded)
		if s < least || s == least && slices.Compare(path, best) < 0 {
			least = s
			copy(best, path)
		}
	}
}

func (q *Residual) squaredError(x []float32, codes []uint32, decoded []float32) float64 {
	if q.decodeRow(codes, decoded) != nil {
		return math.Inf(1)
	}
	return SquaredDistance(x, decoded)
}
