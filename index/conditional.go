package index

import (
	"fmt"
	"sync"
)

// Condition makes the vectors of a level of [Residual] depend on x̂ [d], the sum of the
// vectors that the levels before it have sent: [Affine] or [Implicit].
type Condition interface {
	// conditioned packs the condition for the given codes.
	conditioned(codes *Codes) (conditioned, error)
}

// conditioned is a level's condition, packed. Vectors are computed in float32 by
// arithmetic that is the same to the bit on every machine and in every batch.
type conditioned interface {
	// terms returns what vectors need of sent [n,d], for each row.
	terms(m *conditionMemory, sent []float32, n int) []float32
	// vectors writes the vectors [n,d] of codes [n] to out; code i sees the terms of row
	// rows[i] (row i of a nil rows).
	vectors(m *conditionMemory, terms []float32, rows []int32, codes []uint32, out []float32)
	// pick fills the picks of b with the best continuations of hypotheses with the given
	// terms, as pickContinuations does.
	pick(b *beamMemory, terms []float32, h hypotheses)
}

// hypotheses are partial encodings of rows, alive of each, that grow to the given number.
type hypotheses struct {
	rows, alive, grown int
	width              int       // of the picks of a row
	residual           []float32 // [rows*alive,d]
	sent               []float32 // [rows*alive,d]; nil at the first level
}

func (h hypotheses) count() int { return h.rows * h.alive }

// NewConditional is [NewResidual] with the condition of every level after the first, nil
// for levels whose vectors are their codes. It fails if sizes do not fit.
func NewConditional(levels []*Codes, conditions []Condition) (*Residual, error) {
	q, err := NewResidual(levels...)
	if err != nil {
		return nil, err
	}
	if len(conditions) != len(levels) || conditions[0] != nil {
		return nil, fmt.Errorf("%d levels of a residual encoder need as many conditions, none of the first, got %d", len(levels), len(conditions))
	}
	for l, c := range conditions {
		if c == nil {
			continue
		}
		if q.conditions == nil {
			q.conditions = make([]conditioned, len(levels))
		}
		if q.conditions[l], err = c.conditioned(levels[l]); err != nil {
			return nil, fmt.Errorf("the condition of level %d: %w", l, err)
		}
	}
	return q, nil
}

// condition returns the condition of level l, nil without.
func (q *Residual) condition(l int) conditioned {
	if q.conditions == nil {
		return nil
	}
	return q.conditions[l]
}

// conditionMemory is the working memory of conditions.
type conditionMemory struct {
	known         []float32   // terms in use
	groups        []float32   // interleaved inputs of a layer
	hidden, wide  []float32   // results of layers
	residual      []float32   // residuals times Uᵀ
	moved         []float32   // vectors
	chosen        []uint32    // codes to compare,
	rows          []int32     // their hypotheses
	proposals     []candidate // and their places among the distinct codes
	shortlisted   []float32   // scores of the shortlist
	settled       []float32   // changes of the chosen codes
	first, second *scratch    // rows packed for the codes and for the shortlist
}

// SettledCodes is the number of codes whose order is checked by their exact vectors; an [Implicit] condition has as
// many candidates at least.
const SettledCodes = 4

// nearestConditional writes the nearest codes of e.residual at level l to e.index and
// their vectors to e.vectors. Scores that rounding cannot tell apart are compared exactly;
// ties go to the lowest code.
func (q *Residual) nearestConditional(e *encoding, l int, c conditioned) {
	m, d, codes := &e.beam, q.d, q.levels[l]
	q.reserve(e, SettledCodes)
	h := hypotheses{rows: e.rows, alive: 1, grown: min(SettledCodes, len(codes.source)), width: SettledCodes,
		residual: e.residual, sent: e.sent}
	terms := q.pick(m, l, h)
	for i := range e.index {
		e.index[i] = 0
		if m.filled[i] > 0 {
			e.index[i] = codes.source[m.picks[i*h.width].code]
		}
	}
	c.vectors(&m.condition, terms, nil, e.index, e.vectors)
	for i := range e.index {
		residual := e.residual[i*d : (i+1)*d]
		// The change of a vector by itself is its squared length.
		length := codes.rowNorm(codes.kernel.change(residual, residual, residual, residual))
		limit := m.picks[i*h.width].error + float32(4*codes.scoreError(length, codes.norm))
		for _, p := range m.picks[i*h.width+1 : i*h.width+max(1, m.filled[i])] {
			if p.error > limit {
				break
			}
			code, row := codes.source[p.code], []int32{int32(i)}
			c.vectors(&m.condition, terms, row, []uint32{code}, m.decoded)
			now, other := SquaredDistance(residual, e.vectors[i*d:(i+1)*d]), SquaredDistance(residual, m.decoded)
			if other < now || other == now && code < e.index[i] {
				e.index[i] = code
				copy(e.vectors[i*d:(i+1)*d], m.decoded)
			}
		}
	}
}

// vectors writes the vectors [n,d] of codes [n] of level l, given sent [n,d], to out.
func (q *Residual) vectors(m *conditionMemory, l int, codes []uint32, sent, out []float32) {
	if c := q.condition(l); c != nil {
		c.vectors(m, c.terms(m, sent, len(codes)), nil, codes, out)
		return
	}
	for i, code := range codes {
		copy(out[i*q.d:(i+1)*q.d], q.levels[l].Row(int(code)))
	}
}

var conditionPool = sync.Pool{New: func() any { return new(conditionMemory) }}

// decodeConditional is Decode where levels have conditions.
func (q *Residual) decodeConditional(codes []uint32, n, levels int, out []float32) error {
	for i, code := range codes[:n*levels] {
		if l := i % levels; int64(code) >= int64(q.levels[l].k) {
			return fmt.Errorf("row %d: %w", i/levels, q.outside(code, l))
		}
	}
	forBlocks(n, blockRows, 0, func(from, to int) {
		m := conditionPool.Get().(*conditionMemory)
		defer conditionPool.Put(m)
		rows, sum := to-from, out[from*q.d:to*q.d]
		m.chosen, m.moved = resized(m.chosen, rows), resized(m.moved, rows*q.d)
		for l := range levels {
			for i := range rows {
				m.chosen[i] = codes[(from+i)*levels+l]
			}
			q.vectors(m, l, m.chosen, sum, m.moved)
			if l == 0 {
				copy(sum, m.moved)
			} else {
				add(sum, m.moved)
			}
		}
	})
	return nil
}

// add adds b to a.
func add(a, b []float32) {
	b = b[:len(a)]
	for j := range a {
		a[j] += b[j]
	}
}
