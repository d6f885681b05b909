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
	sent, sentNext []float32   // [rows*width,d] sums of vectors, where levels have conditions
	paths, longer  []uint32    // [rows*width,levels] codes so far
	scores         []float32   // [groupRows, packed codes of the level]
	picks          []candidate // [rows,width] best continuations of each row
	filled         []int       // [rows] number of picks
	decoded        []float32   // [d]
	parents        []int32     // [rows*width] hypotheses that were continued
	codes          []uint32    // [rows*width] by these codes
	vectors        []float32   // [rows*width,d] of these codes, where the level has a condition
	condition      conditionMemory
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
	levels := e.levels
	q.reserve(e, width)
	copy(m.residual, e.x)
	alive := 1
	for l, codes := range q.levels[:levels] {
		grown := min(width, alive*len(codes.source))
		h := hypotheses{rows: e.rows, alive: alive, grown: grown, width: width, residual: m.residual, sent: m.sent}
		known := q.pick(m, l, h)
		for i := range e.rows {
			for b := range grown {
				pick := m.picks[i*width+min(b, max(0, m.filled[i]-1))]
				if m.filled[i] == 0 { // no score is finite
					pick = candidate{}
				}
				from, to := i*alive+int(pick.parent), i*grown+b
				m.parents[to], m.codes[to] = int32(from), codes.source[pick.code]
				path := m.longer[to*levels : (to+1)*levels]
				copy(path[:l], m.paths[from*levels:])
				path[l] = m.codes[to]
			}
		}
		alive = grown
		if l+1 < levels || q.conditions != nil {
			q.send(m, l, known, e.rows*grown)
		}
		m.residual, m.next = m.next, m.residual
		m.sent, m.sentNext = m.sentNext, m.sent
		m.paths, m.longer = m.longer, m.paths
	}
	return alive
}

// reserve makes room for a beam of the given width.
func (q *Residual) reserve(e *encoding, width int) {
	m, n := &e.beam, e.rows*width
	m.residual, m.next = resized(m.residual, n*q.d), resized(m.next, n*q.d)
	m.paths, m.longer = resized(m.paths, n*e.levels), resized(m.longer, n*e.levels)
	m.picks, m.filled = resized(m.picks, n), resized(m.filled, e.rows)
	m.parents, m.codes = resized(m.parents, n), resized(m.codes, n)
	m.decoded = resized(m.decoded, q.d)
	if q.conditions != nil {
		m.sent, m.sentNext, m.vectors = resized(m.sent, n*q.d), resized(m.sentNext, n*q.d), resized(m.vectors, n*q.d)
	}
}

// pick fills m.picks with the best continuations of each row at level l, and returns the
// terms of the level's condition, if there is one.
func (q *Residual) pick(m *beamMemory, l int, h hypotheses) (terms []float32) {
	c := q.condition(l)
	if c == nil {
		q.levels[l].pickContinuations(m, h)
		return nil
	}
	terms = c.terms(&m.condition, h.sent, h.count())
	c.pick(m, terms, h)
	return terms
}

// send moves n hypotheses m.parents on by the vectors of m.codes at level l.
func (q *Residual) send(m *beamMemory, l int, terms []float32, n int) {
	d, c := q.d, q.condition(l)
	if c != nil {
		c.vectors(&m.condition, terms, m.parents[:n], m.codes[:n], m.vectors)
	}
	for i := range n {
		vector := m.vectors[min(len(m.vectors), i*d):]
		if c == nil {
			vector = q.levels[l].Row(int(m.codes[i]))
		}
		from, to := int(m.parents[i])*d, i*d
		subtract(m.next[to:to+d], m.residual[from:from+d], vector)
		if q.conditions != nil {
			sum(m.sentNext[to:to+d], m.sent[from:from+d], vector, l == 0)
		}
	}
}

// pickContinuations fills m.picks with the best continuations of each row.
func (c *Codes) pickContinuations(m *beamMemory, h hypotheses) {
	stride, n := len(c.half), h.count()
	m.search = takeScratch(n, c.d)
	defer m.search.release()
	c.packRows(m.search, h.residual, n)
	m.scores = resized(m.scores, groupRows*stride)
	clear(m.filled)
	for first := 0; first < n; first += groupRows {
		c.scoreGroup(m.search, first/groupRows, m.scores)
		for r := range min(groupRows, n-first) {
			m.merge(c.kernel, h, first+r, m.scores[r*stride:(r+1)*stride], m.search.squares[first+r])
		}
	}
}

// scoreGroup writes the scores [groupRows,len(half)] of a packed group.
func (c *Codes) scoreGroup(s *scratch, group int, out []float32) {
	size := c.d * groupRows
	for p := range c.panelCount() {
		panel, half := c.panel(p)
		c.kernel.scores(panel, half, s.groups[group*size:(group+1)*size], out[p*panelCodes:], len(c.half))
	}
}

// merge adds the continuations of a hypothesis to the picks of its row.
func (m *beamMemory) merge(k kernel, h hypotheses, hypothesis int, scores []float32, energy float32) {
	row := hypothesis / h.alive
	m.filled[row] = k.merge(m.picksOf(h, row), m.filled[row], scores, energy, int32(hypothesis%h.alive))
}

// insert adds one continuation to the picks of a row.
func (m *beamMemory) insert(h hypotheses, row int, c candidate) {
	m.filled[row] = insert(m.picksOf(h, row), m.filled[row], c)
}

func (m *beamMemory) picksOf(h hypotheses, row int) []candidate {
	return m.picks[row*h.width : row*h.width+h.grown]
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
			filled = insert(picks, filled, candidate{error: total, parent: parent, code: int32(code)})
			if filled == len(picks) {
				worst = picks[filled-1].error
			}
		}
	}
	return filled
}

// insert adds a newcomer of finite error to the first filled picks, sorted by error, then
// by arrival, if there is room or it is better than the last, and returns their new number.
func insert(picks []candidate, filled int, c candidate) int {
	worst := float32(math.Inf(1))
	if filled == len(picks) {
		worst = picks[filled-1].error
	}
	if !(c.error < worst) {
		return filled
	}
	filled = min(filled+1, len(picks))
	at := filled - 1
	for ; at > 0 && c.error < picks[at-1].error; at-- {
		picks[at] = picks[at-1]
	}
	picks[at] = c
	return filled
}

// chooseBest replaces the codes of row i by the path of smallest squared error, if
// that is smaller than theirs, of the alive ones that a beam ended with.
func (q *Residual) chooseBest(e *encoding, i, alive int) {
	d, levels := q.d, e.levels
	x, best := e.x[i*d:(i+1)*d], e.codes[i*levels:(i+1)*levels]
	error := func(codes []uint32, sent []float32, at int) float64 {
		if q.conditions != nil {
			return SquaredDistance(x, sent[at*d:(at+1)*d])
		}
		return q.squaredError(x, codes, e.beam.decoded)
	}
	least := error(best, e.sent, i)
	for at := i * alive; at < (i+1)*alive; at++ {
		path := e.beam.paths[at*levels : (at+1)*levels]
		s := error(path, e.beam.sent, at)
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
