package index

import "sync"

// encodeRows is the number of rows a worker encodes at a time: a beam
// multiplies the rows that are searched together.
func encodeRows(beam int) int {
	return max(groupRows, blockRows/max(1, beam)/groupRows*groupRows)
}

// encoding is the working memory for encoding one block of rows.
type encoding struct {
	rows, levels int
	x            []float32 // [rows,d]
	codes        []uint32  // [rows,levels], the result
	residual     []float32 // [rows,d]
	index        []uint32  // [rows]
	search       *scratch
	beam         beamMemory
}

var encodingPool = sync.Pool{New: func() any { return new(encoding) }}

func takeEncoding(rows, d, levels int) *encoding {
	e := encodingPool.Get().(*encoding)
	e.rows, e.levels = rows, levels
	e.x = resized(e.x, rows*d)
	e.codes = resized(e.codes, rows*levels)
	e.residual = resized(e.residual, rows*d)
	e.index = resized(e.index, rows)
	e.search = takeScratch(rows, d)
	return e
}

func (e *encoding) release() {
	e.search.release()
	e.search = nil
	encodingPool.Put(e)
}

// encodeBlock encodes e.x into e.codes.
func (q *Residual) encodeBlock(e *encoding, beam int) {
	q.encodeGreedy(e)
	if beam > 1 && e.levels > 1 {
		q.improveByBeam(e, beam)
	}
}
