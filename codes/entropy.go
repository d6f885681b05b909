package codes

// A level of a picture is coded in one of three ways, whichever takes the
// fewest bits; a symbol before it says which.
const (
	// Uniform takes log2 K bits for a code.
	Uniform Method = iota
	// Counted adapts to the frequency of codes, starting from the counts of
	// the model, if any.
	Counted
	// Contextual predicts a code from its neighbours with a model.
	Contextual
	methods
)

// Method is a way to code a level of a picture.
type Method int

func (m Method) String() string {
	return [...]string{"uniform", "counted", "contextual"}[m]
}

// encodePlane writes a level in the way that takes the fewest bytes. It returns
// the encoder that has it, the one given being of no more use.
func encodePlane(e *rangeEncoder, grid plane, vocab uint32, m *Model) (*rangeEncoder, Method) {
	if vocab == 1 {
		return e, Uniform
	}
	var best *rangeEncoder
	var chosen Method
	for method := range methods {
		if method == Contextual && !m.covers(grid) {
			continue
		}
		trial := e.clone()
		trial.symbol(uint32(method), 1, uint32(methods))
		encodePlaneAs(method, trial, grid, vocab, m)
		if best == nil || trial.bits() < best.bits() {
			best, chosen = trial, method
		}
	}
	return best, chosen
}

func encodePlaneAs(method Method, e *rangeEncoder, grid plane, vocab uint32, m *Model) {
	switch method {
	case Uniform:
		for at := range grid.all() {
			e.symbol(grid.codes[at], 1, vocab)
		}
	case Counted:
		counts := newAdaptiveCounts(int(vocab), m.counts(grid))
		for at := range grid.all() {
			counts.encode(e, grid.codes[at])
		}
	case Contextual:
		c := newContextCoder(m, grid)
		for y := range grid.height {
			c.codeRow(e, y)
		}
	}
}

// decodePlane fills a level. It stops early, with ok false, at bytes that
// encodePlane does not write.
func decodePlane(d *rangeDecoder, grid plane, vocab uint32, m *Model) (method Method, ok bool) {
	if vocab == 1 {
		return Uniform, true
	}
	method = Method(d.find(uint32(methods)))
	d.take(uint32(method), 1, uint32(methods))
	var counts *adaptiveCounts
	var c *contextCoder
	switch method {
	case Counted:
		counts = newAdaptiveCounts(int(vocab), m.counts(grid))
	case Contextual:
		if !m.covers(grid) {
			return method, false
		}
		c = newContextCoder(m, grid)
	}
	for y := range grid.height {
		if d.exhausted() {
			return method, false
		}
		switch method {
		case Uniform:
			for x := range grid.columns(y) {
				code := d.find(vocab)
				d.take(code, 1, vocab)
				grid.codes[grid.index(y, x)] = code
			}
		case Counted:
			for x := range grid.columns(y) {
				grid.codes[grid.index(y, x)] = counts.decode(d)
			}
		case Contextual:
			c.codeRow(d, y)
		}
	}
	return method, !d.exhausted()
}

// covers reports whether the model, which may be nil, has the level of a plane.
func (m *Model) covers(grid plane) bool { return m != nil && grid.level < m.perPhase }

// counts returns the learned counts of a plane, nil if there are none.
func (m *Model) counts(grid plane) []uint32 {
	if !m.covers(grid) {
		return nil
	}
	return m.at(grid.phase, grid.level).counts
}
