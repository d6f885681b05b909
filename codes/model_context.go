package codes

// bitCoder writes the bit it is given, or ignores that and reads one; both
// return the bit. One way through a picture therefore serves to write, to read
// and to measure it.
type bitCoder interface {
	bit(bit, one uint32) uint32
}

const (
	// Weights move fast within a picture, and slowly in training.
	pictureSlowness  = 14
	trainingSlowness = 17
	constant         = 77 // the constant opinion
	// smoothing is the weight, in bits seen, of the learned probability
	// of a decision in its estimates from contexts and from the picture.
	smoothing = 2
	// ownLimit is when the counts of a picture are halved.
	ownLimit = 60
)

// ownCount counts a decision in the current picture.
type ownCount struct{ ones, total uint8 }

// contextCoder codes one plane of one picture.
type contextCoder struct {
	*levelModel
	outside  []outside // of the planes before
	grid     plane
	weights  []mixWeights
	own      []ownCount
	slowness int
	learner  *learner // nil unless training

	// of the current place
	neighbour [3]neighbouring // by context
	row, col  uint32          // place in the picture, in eighths
	evidence  [maxEvidence]neighbouring
	predicted shortVector

	// of the current decision
	opinions [mixInputs]int32
	cells    [learnedContexts]uint32
}

func newContextCoder(m *Model, grid plane) *contextCoder {
	level := m.at(grid.phase, grid.level)
	return &contextCoder{
		levelModel: level, grid: grid, slowness: pictureSlowness,
		outside: m.outsides(grid.phase, grid.level),
		weights: append([]mixWeights(nil), level.weights...),
		own:     make([]ownCount, len(level.decisions)),
	}
}

// codeRow codes one row of the grid.
func (c *contextCoder) codeRow(coder bitCoder, y int) {
	if len(c.decisions) == 0 {
		return // one code: nothing to decide
	}
	for x := range c.grid.columns(y) {
		c.look(y, x)
		c.predictVector()
		at := c.grid.index(y, x)
		before := c.grid.codes[at]
		if code := c.code(coder, before); code != before {
			c.grid.codes[at] = code
		}
	}
}

// code codes one code, given the neighbours that look found.
func (c *contextCoder) code(coder bitCoder, code uint32) uint32 {
	path := c.tree.path[code]
	for at := int32(0); ; {
		one := c.predict(at)
		bit := coder.bit(path>>(maxDepth-1), one)
		path <<= 1
		c.learn(at, bit, one)
		if at = c.tree.nodes[at].child[bit]; at < 0 {
			return uint32(^at)
		}
	}
}

// predict returns the probability that the decision at a node is 1.
func (c *contextCoder) predict(at int32) uint32 {
	node, d := &c.tree.nodes[at], &c.decisions[at]
	fine := int(d.fine)
	for context, n := range c.neighbour {
		class := uint32(1) << fine // no neighbour
		if n.code >= 0 {
			if n.of != c.levelModel {
				class = n.of.tree.path[n.code] >> (maxDepth - fine)
			} else {
				class = c.tree.class(uint32(n.code), node, fine)
			}
		}
		c.cells[context] = d.fineBase + class
	}
	half := d.coarse / 2
	c.cells[placeContext] = d.coarseBase + (c.row>>(3-half))<<half + c.col>>(3-half)

	along := -d.middle
	for i, axis := range c.axes[at] {
		along += int64(axis * c.predicted[i])
	}
	place := max(0, min((along*d.scale)>>20+1<<15, 1<<16-1))
	c.cells[predictedContext] = d.coarseBase + uint32(place)>>(16-d.coarse)

	c.opinions[ownOpinion] = d.logOdds
	if c.learner != nil {
		c.learner.opinions(&c.opinions, &c.cells, d)
	} else {
		for context, cell := range c.cells {
			c.opinions[contextOpinions+context] = int32(c.tables[context][cell]) * opinionUnit
		}
	}
	own := c.own[at]
	c.opinions[pictureOpinion] = estimate(uint32(own.ones), uint32(own.total), d)
	c.opinions[constantOpinion] = constant
	return squash(c.weights[node.depth].logOdds(&c.opinions))
}

// learn takes notice of the decision at a node.
func (c *contextCoder) learn(at int32, bit, one uint32) {
	c.weights[c.tree.nodes[at].depth].learn(&c.opinions, bit, one, c.slowness)
	own := &c.own[at]
	if own.total == ownLimit {
		own.ones, own.total = own.ones/2, own.total/2
	}
	own.ones += uint8(bit)
	own.total++
	if c.learner != nil {
		c.learner.count(&c.cells, bit)
	}
}

// estimate returns the log-odds of a decision that went right ones times of
// total, as the difference from its prior log-odds.
func estimate(ones, total uint32, d *decision) int32 {
	one := (uint64(ones)<<probabilityBits + smoothing*uint64(d.one)) / uint64(total+smoothing)
	return stretch(uint32(min(one, 1<<probabilityBits-1))) - d.logOdds
}
