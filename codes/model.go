package codes

import (
	"crypto/sha256"
	"math"
	"math/bits"
)

// Model predicts the codes of a tokenizer's pictures from their frequencies and
// neighbours, so that pictures take fewer bits. It comes from Train or, if it was
// stored, from NewModel; both give the same model on every CPU. It is safe for
// concurrent use.
//
// A code is coded as the decisions on the way to it in a tree of codes. At each
// decision several opinions are mixed: how often the decision went either way
// in all training pictures; the same given the code to the left, the code
// above, the code above to the right (in a later level: the code of the level
// before, at the same place), the place in the picture, and a vector predicted
// from all neighbours by linear regression; and how often it went either way in
// this picture so far. Opinions and weights are integers.
//
// Where cells are coded in phases, each phase has its own tree and opinions: codes
// of another phase mean something else. Its neighbours are those of its own phase
// and, in place of the level before, the nearest of the phases before.
type Model struct {
	levels   []*levelModel     // phase after phase
	phases   int               // 1, 2 or 4
	perPhase int               // levels of each
	sum      [sha256.Size]byte // of the tensors
}

// Vocab returns the number of codes of each level.
func (m *Model) Vocab() []uint32 {
	vocab := make([]uint32, m.perPhase)
	for i, level := range m.levels[:m.perPhase] {
		vocab[i] = uint32(len(level.counts))
	}
	return vocab
}

// Phases is the number of phases of cells.
func (m *Model) Phases() int { return m.phases }

// at returns the model of a level in a phase.
func (m *Model) at(phase, level int) *levelModel { return m.levels[phase*m.perPhase+level] }

// The contexts whose opinions are learned.
const (
	leftContext = iota
	aboveContext
	cornerContext
	placeContext
	predictedContext
	learnedContexts
)

var contextNames = [learnedContexts]string{"left", "above", "corner", "place", "predicted"}

// The opinions of a mix: the first is the learned one of the decision itself,
// the contexts' and the picture's are differences from it.
const (
	ownOpinion      = 0
	contextOpinions = 1
	pictureOpinion  = contextOpinions + learnedContexts
	constantOpinion = pictureOpinion + 1
)

// opinionUnit is the unit of a stored opinion in units of log-odds.
const opinionUnit = 16

// levelModel is the model of one level. The first fields are stored, the others
// follow from them.
type levelModel struct {
	counts     []uint32 // [K] in training, up to 65535
	tree       codeTree
	vectors    []int8  // [K,width] short code vectors
	regression []int16 // [features,width] in units of 2^-12
	tables     [learnedContexts][]int8
	weights    []mixWeights // [maxDepth] by the depth of the decision

	width     int
	points    []shortVector // [K] the vectors
	factors   []shortVector // [features] the regression
	decisions []decision    // [nodes]
	axes      []shortVector // [nodes] from the mean vector of one side to the other's, in units of 1/16
}

// shortVector is a code vector or a prediction of one, padded with zeros.
type shortVector [vectorWidth]int32

// decision holds the statistics of a node of the tree.
type decision struct {
	one        uint32 // probability of turning right
	logOdds    int32
	fine       uint8  // log2 of the classes of a neighbouring code
	coarse     uint8  // log2 of the classes of a place and of a prediction
	fineBase   uint32 // where its opinions begin in the tables of neighbours
	coarseBase uint32 // and in the two others
	middle     int64  // of the two sides, along the axis
	scale      int64  // makes 2^16 of 2.5 times the distance of the two sides
}

const (
	maxFine   = 14
	maxCoarse = 6
	// tableCells bounds the opinions of a context; very large vocabularies
	// get four for each code.
	tableCells = 1 << 17
	// cellCount is the least mean number of training decisions per cell.
	cellCount = 8
)

// derive fills the fields that follow from counts, tree and vectors. It returns
// the sizes of the tables.
func (m *levelModel) derive() (fineCells, coarseCells int) {
	m.width = len(m.vectors) / len(m.counts)
	m.decisions = make([]decision, len(m.tree.nodes))
	m.axes = make([]shortVector, len(m.tree.nodes))
	m.points = make([]shortVector, len(m.counts))
	for i, x := range m.vectors {
		m.points[i/m.width][i%m.width] = int32(x)
	}
	seen := m.compareSides()
	fine, fineCells := m.resolutions(seen, maxFine, 1)
	coarse, coarseCells := m.resolutions(seen, maxCoarse, 0)
	var fineBase, coarseBase uint32
	for i := range m.decisions {
		d := &m.decisions[i]
		d.fine, d.fineBase = fine[i], fineBase
		d.coarse, d.coarseBase = coarse[i], coarseBase
		fineBase += 1<<fine[i] + 1
		coarseBase += 1 << coarse[i]
	}
	return fineCells, coarseCells
}

// compareSides fills the decisions' probabilities and axes. It returns how
// often each decision was seen.
func (m *levelModel) compareSides() (seen []uint64) {
	n := len(m.tree.nodes)
	weights := make([][2]int64, n)
	sums := make([][2][vectorWidth]int64, n)
	seen = make([]uint64, n)
	for code, count := range m.counts {
		w := int64(weight(count))
		for at, depth := int32(0), uint8(0); depth < m.tree.depth[code]; depth++ {
			side := m.tree.path[code] >> (maxDepth - 1 - depth) & 1
			seen[at] += uint64(count)
			weights[at][side] += w
			for i, x := range m.points[code] {
				sums[at][side][i] += w * int64(x)
			}
			at = m.tree.nodes[at].child[side]
		}
	}
	for i := range m.decisions {
		d, w := &m.decisions[i], weights[i]
		d.one = uint32(max(1, min(uint64(w[1])<<probabilityBits/uint64(w[0]+w[1]), 1<<probabilityBits-1)))
		d.logOdds = stretch(d.one)
		var length int64
		for j := range vectorWidth {
			left, right := sums[i][0][j]*16/w[0], sums[i][1][j]*16/w[1]
			axis := right - left
			m.axes[i][j] = int32(axis)
			d.middle += axis * (left + right)
			length += axis * axis
		}
		d.middle /= 2
		if length > 0 {
			d.scale = 2 << 36 / (5 * length)
		}
	}
	return seen
}

// resolutions returns the log2 of the number of classes of each decision, at most
// most, such that cells are seen often enough and few enough; every decision has
// extra cells beside its classes.
func (m *levelModel) resolutions(seen []uint64, most, extra int) (resolution []uint8, cells int) {
	resolution = make([]uint8, len(seen))
	budget := max(tableCells, 4*len(m.counts))
	for often := uint64(cellCount); ; often += often/16 + 1 {
		cells = 0
		for i, count := range seen {
			resolution[i] = uint8(min(max(bits.Len64(count/often)-1, 0), most))
			cells += 1<<resolution[i] + extra
		}
		if cells <= budget {
			return resolution, cells
		}
	}
}

// identity hashes a tokenizer's fingerprint and its model of codes, if any.
func identity(fingerprint [32]byte, m *Model) [identityBytes]byte {
	hash := sha256.New()
	hash.Write(fingerprint[:])
	if m != nil {
		hash.Write(m.sum[:])
	}
	return [identityBytes]byte(hash.Sum(nil))
}

// storedCounts scales counts, if need be, so that the largest is 65535. None
// but zero becomes zero.
func storedCounts(counts []uint64) []uint32 {
	var largest uint64
	for _, count := range counts {
		largest = max(largest, count)
	}
	stored := make([]uint32, len(counts))
	for i, count := range counts {
		if largest > math.MaxUint16 {
			high, low := bits.Mul64(count, math.MaxUint16)
			count, low = bits.Div64(high, low, largest)
			if low > 0 {
				count++
			}
		}
		stored[i] = uint32(count)
	}
	return stored
}
