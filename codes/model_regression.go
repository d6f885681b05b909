package codes

import "math"

// All neighbours together predict a decision better than any one. Their vectors
// predict the vector of the code, by linear regression; the position of the
// prediction between the two sides of a decision is a context.

const (
	maxEvidence = 9
	// constantFeature is the regression's constant input beside the vectors.
	constantFeature = 64
	// regressionUnit is the unit of its factors.
	regressionUnit = 1 << 12
	// regressionPlaces is about how many places it is fitted to.
	regressionPlaces = 1 << 18
)

// neighbouring is a code, -1 for none, and the model whose vector it has.
type neighbouring struct {
	of   *levelModel
	code int32
}

// look gathers the contexts of a place and the inputs of its regression: the
// codes left, above, above to the left and above to the right, and those of
// planes before this one. The nearest code replaces a missing one.
func (c *contextCoder) look(y, x int) {
	g, own := &c.grid, c.levelModel
	c.row, c.col = uint32(8*y/g.height), uint32(8*x/g.width)
	var near [4]int32
	for i, s := range ownSteps[g.phases] {
		near[i] = g.at(y+s.down, x+s.right)
	}
	left, above, corner := near[0], near[1], near[3]
	c.neighbour = [...]neighbouring{{own, left}, {own, above}, {own, corner}}
	left, above = or(left, above), or(above, left)
	c.evidence = [maxEvidence]neighbouring{{own, left}, {own, above}, {own, or(near[2], above)}, {own, or(corner, above)}}
	if c.outside == nil {
		return
	}
	first := neighbouring{code: -1} // that there is
	before := *g
	for i, o := range c.outside {
		before.level = o.level
		c.evidence[4+i] = neighbouring{o.of, before.at(y+o.down, x+o.right)}
		if first.code < 0 {
			first = c.evidence[4+i]
		}
	}
	for i := range c.outside {
		if e := &c.evidence[4+i]; e.code < 0 && e.of == first.of {
			e.code = first.code
		}
	}
	c.neighbour[cornerContext] = first
	if g.level == 0 { // of a later phase
		c.neighbour[leftContext] = c.evidence[5]
	}
}

// or returns code, or another where there is none.
func or(code, other int32) int32 {
	if code < 0 {
		return other
	}
	return code
}

// predictVector predicts the vector of the current place, in units of 1/16.
func (c *contextCoder) predictVector() {
	clear(c.predicted[:])
	factors := c.factors
	for _, e := range c.evidence {
		if e.of == nil {
			break
		}
		if e.code >= 0 {
			c.predicted.addProduct(&e.of.points[e.code], factors[:e.of.width])
		}
		factors = factors[e.of.width:]
	}
	c.predicted.addProduct(&shortVector{constantFeature}, factors)
	for i, x := range c.predicted {
		c.predicted[i] = max(-4095, min(x>>8, 4095))
	}
}

// addProduct adds the product of x with the matrix whose rows are given.
func (v *shortVector) addProduct(x *shortVector, rows []shortVector) {
	for i := range rows {
		scale := x[i]
		for j, factor := range &rows[i] {
			v[j] += scale * factor
		}
	}
}

// features is the number of rows of the regression of a level.
func features(level *levelModel, outside []outside) int {
	n := 4*level.width + 1
	for _, o := range outside {
		n += o.of.width
	}
	return n
}

// fitRegression fills the regression of the last level from its planes of all grids.
// The sums are exact integers, so that only their solution is rounded.
func (m *Model) fitRegression(planes []plane) {
	index := len(m.levels) - 1
	target := m.levels[index]
	places := 0
	for _, g := range planes {
		places += g.cells()
	}
	every := places/regressionPlaces | 1 // odd, so that no column is left out
	n := features(target, m.outsides(index/m.perPhase, index%m.perPhase))
	squares, products := make([]int64, n*n), make([]int64, n*target.width)
	row := make([]int64, n)
	next := 0
	for _, g := range planes {
		c := newContextCoder(m, g)
		for at := range g.all() {
			if next > 0 {
				next--
				continue
			}
			next = every - 1
			y, x := at/g.levels/g.width, at/g.levels%g.width
			c.look(y, x)
			c.featureRow(row)
			vector := target.points[c.grid.at(y, x)][:target.width]
			for i, a := range row {
				if a == 0 {
					continue
				}
				for j, b := range row[:i+1] {
					squares[i*n+j] += a * b
				}
				for j, b := range vector {
					products[i*target.width+j] += a * int64(b)
				}
			}
		}
	}
	target.setRegression(regressionFactors(squares, products, n, target.width, places/every+1))
}

// setRegression takes factors [features,width].
func (m *levelModel) setRegression(factors []int16) {
	m.regression = factors
	m.factors = make([]shortVector, len(factors)/m.width)
	for i, factor := range factors {
		m.factors[i/m.width][i%m.width] = int32(factor)
	}
}

// featureRow fills row with the features of the current place.
func (c *contextCoder) featureRow(row []int64) {
	clear(row)
	at := 0
	for _, e := range c.evidence {
		if e.of == nil {
			break
		}
		if e.code >= 0 {
			for i, x := range e.of.points[e.code][:e.of.width] {
				row[at+i] = int64(x)
			}
		}
		at += e.of.width
	}
	row[at] = constantFeature
}

// regressionFactors solves the normal equations of n features, whose lower half
// is given, with a penalty of one unit of variance on every factor.
func regressionFactors(squares, products []int64, n, width, places int) []int16 {
	a, b := make([]float64, n*n), make([]float64, n*width)
	for i := range n {
		for j := range i + 1 {
			a[i*n+j], a[j*n+i] = float64(squares[i*n+j]), float64(squares[i*n+j])
		}
		a[i*n+i] += float64(places)
	}
	for i, product := range products {
		b[i] = float64(product)
	}
	factors := make([]int16, n*width)
	for i, factor := range solve(a, b, n, width) {
		factors[i] = int16(max(math.MinInt16, min(math.Round(factor*regressionUnit), math.MaxInt16)))
	}
	return factors
}
