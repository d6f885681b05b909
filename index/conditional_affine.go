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
	rectify(hidden)
	out := c.last.apply(&m.groups, hidden, n, c.hidden.stride, &m.known)
	for i := range n {
		_, scale := c.row(out, i)
		for j, t := range scale {
			a := 4 + 4*max(t, -t)
			scale[j] = (a + t) / (a - t)
		}
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
		vector := out[i*c.d : (i+1)*c.d]
		mu, scale = mu[:len(vector)], scale[:len(vector)]
		for j, v := range c.codes.Row(int(code))[:len(vector)] {
			vector[j] = mu[j] + float32(scale[j]*v)
		}
	}
}

// pick scores every code: with the codebook's mean m and y = r - mu - s·m, the error
// |r - mu - s·(m + c)|² is |y|² + 2 (|c|²/2 - ⟨s·y, c⟩ + ⟨s²-1, c²/2⟩). Where s = 1 and
// mu = 0 that is the arithmetic of a level without a condition, to the bit.
func (c *affine) pick(b *beamMemory, terms []float32, h hypotheses) {
	d, m := c.d, &b.condition
	stride, size := len(c.codes.half), 2*d*panelCodes
	b.scores = resized(b.scores, groupRows*stride)
	m.groups = resized(m.groups, 2*d*groupRows)
	clear(b.filled)
	var energy [groupRows]float32
	for first := 0; first < h.count(); first += groupRows {
		for r := range groupRows {
			i := min(first+r, h.count()-1)
			mu, scale := c.row(terms, i)
			energy[r] = affineQuery(m.groups[r:], h.residual[i*d:(i+1)*d], mu, scale, c.codes.mean)
		}
		for p := range c.codes.panelCount() {
			_, half := c.codes.panel(p)
			c.codes.kernel.scores(c.panels[p*size:(p+1)*size], half, m.groups, b.scores[p*panelCodes:], stride)
		}
		for r := range min(groupRows, h.count()-first) {
			b.merge(c.codes.kernel, h, first+r, b.scores[r*stride:(r+1)*stride], energy[r])
		}
	}
}

// affineQuery writes -s·y and s²-1 to every groupRows-th element of group [2d,groupRows]
// and returns |y|²; see pick.
func affineQuery(group, residual, mu, scale, mean []float32) (energy float32) {
	d := len(residual)
	mu, scale, mean = mu[:d], scale[:d], mean[:d]
	excess := group[d*groupRows:]
	for j, r := range residual {
		s := scale[j]
		y := float32(s*mean[j]) - (r - mu[j])
		group[j*groupRows] = s * y
		excess[j*groupRows] = float32(s*s) - 1
		energy += float32(y * y)
	}
	return energy
}
