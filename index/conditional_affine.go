package index

// Affine shifts and scales the codes c of a level elementwise,
//
//	c'(x̂) = mu + s·c,  [mu, t] = relu(x̂ Q + b) U,  s = (a+t)/(a-t) with a = 4+4|t|,
//
// so that s lies between 3/5 and 5/3, and is 1 for t = 0.
type Affine struct {
	Hidden int       // h
	Q      []float32 // [d,h]
	Bias   []float32 // [h]
	U      []float32 // [h,2d]
}

type affine struct {
	codes  *Codes
	d      int
	hidden *layer    // Q, b
	last   *layer    // U
	panels []float32 // [panelCount, 2d, panelCodes]: c and c²/2, c centred on the codes' mean
}

func (a Affine) conditioned(codes *Codes) (conditioned, error) {
	d := codes.d
	for _, m := range []struct {
		name          string
		x             []float32
		rows, columns int
	}{{"Q", a.Q, d, a.Hidden}, {"the bias", a.Bias, 1, a.Hidden}, {"U", a.U, a.Hidden, 2 * d}} {
		if err := checkMatrix(m.name, m.x, m.rows, m.columns); err != nil {
			return nil, err
		}
	}
	c := &affine{codes: codes, d: d, hidden: newLayer(codes.kernel, a.Q, d, a.Hidden, a.Bias)}
	c.last = newLayer(codes.kernel, a.U, a.Hidden, 2*d, nil)
	c.panels = make([]float32, 2*len(codes.panels))
	size := d * panelCodes
	for p := range codes.panelCount() {
		panel, _ := codes.panel(p)
		out := c.panels[2*p*size : 2*(p+1)*size]
		copy(out, panel)
		for i, v := range panel {
			out[size+i] = v * v / 2
		}
	}
	return c, nil
}

// terms are mu and s.
func (c *affine) terms(m *conditionMemory, sent []float32, n int) []float32 {
	hidden := c.hidden.apply(&m.groups, sent, n, c.d, &m.hidden)
	c.codes.kernel.rectify(hidden)
	out := c.last.apply(&m.groups, hidden, n, c.hidden.stride, &m.known)
	for i := range n {
		_, scale := c.row(out, i)
		c.codes.kernel.scale(scale)
	}
	return out
}

func (c *affine) row(terms []float32, i int) (mu, scale []float32) {
	row := terms[i*c.last.stride:]
	return row[:c.d], row[c.d : 2*c.d]
}

func (c *affine) vectors(_ *conditionMemory, terms []float32, rows []int32, codes []uint32, out []float32) {
	for i, code := range codes {
		row := i
		if rows != nil {
			row = int(rows[i])
		}
		mu, scale := c.row(terms, row)
		c.codes.kernel.moved(out[i*c.d:(i+1)*c.d], mu, scale, c.codes.Row(int(code)))
	}
}

// pick scores every code: with the codebook's mean m and y = r - mu - s·m, the error
// |r - mu - s·(m + c)|² is |y|² + 2 (|c|²/2 - ⟨s·y, c⟩ + ⟨s²-1, c²/2⟩). Where s = 1 and
// mu = 0 that is the arithmetic of a level without a condition, to the bit.
func (c *affine) pick(b *beamMemory, terms []float32, h hypotheses) {
	d, m, n := c.d, &b.condition, h.count()
	stride, size := len(c.codes.half), 2*d*panelCodes
	b.scores = resized(b.scores, groupRows*stride)
	m.hidden, m.wide = resized(m.hidden, groupRows*2*d), resized(m.wide, groupRows*d)
	m.groups = resized(m.groups, groupRows*2*d)
	clear(b.filled)
	for first := 0; first < n; first += groupRows {
		rows := min(groupRows, n-first)
		for r := range rows {
			mu, scale := c.row(terms, first+r)
			product := m.hidden[2*r*d : 2*(r+1)*d]
			residual := h.residual[(first+r)*d : (first+r+1)*d]
			c.codes.kernel.query(m.wide[r*d:(r+1)*d], product[:d], product[d:], residual, mu, scale, c.codes.mean)
		}
		interleave(m.groups, m.hidden, rows, 2*d, 2*d)
		for p := range c.codes.panelCount() {
			_, half := c.codes.panel(p)
			c.codes.kernel.scores(c.panels[p*size:(p+1)*size], half, m.groups, b.scores[p*panelCodes:], stride)
		}
		energy := squaredLengths(m.wide, rows, d)
		for r := range rows {
			b.merge(c.codes.kernel, h, first+r, b.scores[r*stride:(r+1)*stride], energy[r])
		}
	}
}

// squaredLengths returns the squared lengths of up to groupRows rows of x [rows,d], each
// added up in the order of the coordinates, as packRows does.
func squaredLengths(x []float32, rows, d int) (squares [groupRows]float32) {
	for r := 0; r < rows; r += 4 {
		at := func(i int) []float32 {
			i = min(r+i, rows-1)
			return x[i*d : (i+1)*d]
		}
		x0, x1, x2, x3 := at(0), at(1), at(2), at(3)
		x1, x2, x3 = x1[:len(x0)], x2[:len(x0)], x3[:len(x0)]
		var s0, s1, s2, s3 float32
		for j := range x0 {
			s0 += float32(x0[j] * x0[j])
			s1 += float32(x1[j] * x1[j])
			s2 += float32(x2[j] * x2[j])
			s3 += float32(x3[j] * x3[j])
		}
		*(*[4]float32)(squares[r:]) = [4]float32{s0, s1, s2, s3}
	}
	return squares
}
