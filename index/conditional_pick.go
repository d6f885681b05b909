package index

import "slices"

func (c *implicit) terms(m *conditionMemory, sent []float32, n int) []float32 {
	return c.sent.apply(&m.groups, sent, n, c.d, &m.known)
}

// termsOf returns the terms of code i, as conditioned.vectors counts them.
func (c *implicit) termsOf(terms []float32, rows []int32, i int) []float32 {
	if rows != nil {
		i = int(rows[i])
	}
	return terms[i*c.sent.stride : (i+1)*c.sent.stride]
}

func (c *implicit) vectors(m *conditionMemory, terms []float32, rows []int32, codes []uint32, out []float32) {
	n, d := len(codes), c.d
	for i, code := range codes {
		vector := out[i*d : (i+1)*d]
		copy(vector, c.start[int(code)*d:])
		if c.concat {
			add(vector, c.termsOf(terms, rows, i))
		}
	}
	for i, b := range c.blocks {
		hidden := c.hidden(m, i, terms, rows, codes, out)
		moves := b.out.apply(&m.groups, hidden, n, b.in.stride, &m.wide)
		for i := range n {
			add(out[i*d:(i+1)*d], moves[i*b.out.stride:])
		}
	}
}

// hidden returns the hidden layer [n,stride] of block i for codes [n] that were moved to
// v [n,d] so far.
func (c *implicit) hidden(m *conditionMemory, i int, terms []float32, rows []int32, codes []uint32, v []float32) []float32 {
	b, kern := c.blocks[i], c.codes.kernel
	n, stride, width := len(codes), b.in.stride, b.in.out
	inputs := func(i int) []float32 { return c.inputs[int(codes[i])*stride:] }
	if i == 0 {
		m.hidden = resized(m.hidden, n*stride)
	} else {
		applied := b.in.apply(&m.groups, v, n, c.d, &m.hidden)
		inputs = func(i int) []float32 { return applied[i*stride:] }
	}
	for i := range n {
		if out := m.hidden[i*stride : i*stride+width]; b.term >= 0 {
			kern.hidden(out, inputs(i), c.termsOf(terms, rows, i)[b.term:])
		} else {
			copy(out, inputs(i))
			kern.rectify(out)
		}
	}
	return m.hidden[:n*stride]
}

// pick compares the codes that the shortlist proposes for each hypothesis. A total is
// the error of the code itself, by the arithmetic of a level without a condition, and
// what the network changes in it: zero to the bit where the network has no effect.
func (c *implicit) pick(b *beamMemory, terms []float32, h hypotheses) {
	m, d, n := &b.condition, c.d, h.count()
	codes, stride := c.codes, len(c.codes.half)
	m.first = takeScratch(n, d)
	defer m.first.release()
	codes.packRows(m.first, h.residual, n)
	b.scores = resized(b.scores, groupRows*stride)
	if c.shortlist != nil {
		m.second = takeScratch(n, d)
		defer m.second.release()
		c.shortlist.packRows(m.second, h.residual, n)
		m.shortlisted = resized(m.shortlisted, groupRows*len(c.shortlist.half))
	}
	var fromResidual []float32
	if c.gram != nil {
		fromResidual = c.gram.residual.apply(&m.groups, h.residual, n, d, &m.residual)
	}
	clear(b.filled)
	for first := 0; first < n; first += groupRows {
		codes.scoreGroup(m.first, first/groupRows, b.scores)
		if c.shortlist != nil {
			c.shortlist.scoreGroup(m.second, first/groupRows, m.shortlisted)
		}
		m.chosen, m.rows, m.proposals = m.chosen[:0], m.rows[:0], m.proposals[:0]
		for r := range min(groupRows, n-first) {
			c.propose(m, first+r, r, h.grown)
		}
		changes := c.changes(m, terms, h.residual, fromResidual)
		for i, p := range m.proposals {
			r := int(m.rows[i]) - first
			total := m.first.squares[first+r] + 2*b.scores[r*stride+int(p.code)]
			p.error, p.parent = total+changes[i], m.rows[i]%int32(h.alive)
			b.insert(h, int(m.rows[i])/h.alive, p)
		}
	}
}

// propose appends the candidates of a hypothesis, row r of its group, in the order of
// the codes.
func (c *implicit) propose(m *conditionMemory, hypothesis, r, grown int) {
	start := len(m.proposals)
	if c.shortlist == nil {
		for i := range c.codes.source {
			m.proposals = append(m.proposals, candidate{code: int32(i)})
		}
	} else {
		count := min(max(c.candidates, grown), len(c.shortlist.source))
		m.proposals = slices.Grow(m.proposals, count)[:start+count]
		stride, list := len(c.shortlist.half), m.proposals[start:]
		filled := c.shortlist.kernel.merge(list, 0, m.shortlisted[r*stride:(r+1)*stride], m.second.squares[hypothesis], 0)
		list = list[:filled]
		for i, p := range list {
			list[i].code = c.codes.place[c.shortlist.source[p.code]]
		}
		slices.SortFunc(list, func(a, b candidate) int { return int(a.code - b.code) })
		list = slices.CompactFunc(list, func(a, b candidate) bool { return a.code == b.code })
		m.proposals = m.proposals[:start+len(list)]
	}
	for _, p := range m.proposals[start:] {
		m.chosen, m.rows = append(m.chosen, c.codes.source[p.code]), append(m.rows, int32(hypothesis))
	}
}

// changes returns how much the network changes the squared error of each chosen code
// of m, whose hypotheses are m.rows: |v|² - 2 ⟨r-c, v⟩ with v what it adds to code c.
func (c *implicit) changes(m *conditionMemory, terms, residual, fromResidual []float32) []float32 {
	n, d := len(m.chosen), c.d
	m.settled = resized(m.settled, n)
	change := c.codes.kernel.change
	if g := c.gram; g != nil {
		hidden, in := c.hidden(m, 0, terms, m.rows, m.chosen, nil), c.blocks[0].in
		if in.out > d { // vectors are shorter than hidden layers
			moves, stride := c.blocks[0].out.apply(&m.groups, hidden, n, in.stride, &m.wide), c.blocks[0].out.stride
			for i, code := range m.chosen {
				v := moves[i*stride : i*stride+d]
				m.settled[i] = change(v, v, c.codes.Row(int(code)), residual[int(m.rows[i])*d:])
			}
			return m.settled
		}
		products, stride := g.product.apply(&m.groups, hidden, n, in.stride, &m.wide), in.stride
		for i, code := range m.chosen {
			f := hidden[i*stride : i*stride+in.out]
			m.settled[i] = change(f, products[i*stride:], g.own[int(code)*stride:], fromResidual[int(m.rows[i])*stride:])
		}
		return m.settled
	}
	m.moved = resized(m.moved, n*d)
	c.vectors(m, terms, m.rows, m.chosen, m.moved)
	for i, code := range m.chosen {
		v, own := m.moved[i*d:(i+1)*d], c.codes.Row(int(code))
		subtract(v, v, own)
		m.settled[i] = change(v, v, own, residual[int(m.rows[i])*d:])
	}
	return m.settled
}
