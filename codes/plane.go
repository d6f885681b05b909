package codes

import (
	"iter"

	"github.com/gritvq/gritvq/internal/phase"
)

// plane is the codes of one level of a grid, of the cells of one phase.
type plane struct {
	codes         []uint32 // [height, width, levels]
	height, width int
	levels, level int
	phases, phase int // 0 of 1 for all cells
}

// planes lists the planes of a grid in the order in which they are coded.
func (g CodeMap) planes(phases int) []plane {
	all := plane{codes: g.Codes, height: g.Height, width: g.Width, levels: len(g.Codes) / (g.Height * g.Width), phases: phases}
	var list []plane
	for p := range phases {
		for level := range all.levels {
			all.phase, all.level = p, level
			list = append(list, all)
		}
	}
	return list
}

func (p *plane) index(y, x int) int { return (y*p.width+x)*p.levels + p.level }

// at returns the code at a place, of whatever phase, -1 outside the grid.
func (p *plane) at(y, x int) int32 {
	if y < 0 || x < 0 || y >= p.height || x >= p.width {
		return -1
	}
	return int32(p.codes[p.index(y, x)])
}

// columns yields the columns of the plane's cells in a row.
func (p *plane) columns(y int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for x := range p.width {
			if phase.Of(p.phases, y, x) == p.phase && !yield(x) {
				return
			}
		}
	}
}

// all yields the indices of the plane's codes, row by row.
func (p *plane) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for y := range p.height {
			for x := range p.columns(y) {
				if !yield(p.index(y, x)) {
					return
				}
			}
		}
	}
}

// cells is the number of cells.
func (p *plane) cells() (n int) {
	for range p.all() {
		n++
	}
	return n
}

// step leads from a cell to another.
type step struct{ down, right int }

// ownSteps lead to codes of the same plane that were coded before, by the number of phases: to the left, above, and two
// more.
var ownSteps = map[int][4]step{
	1: {{0, -1}, {-1, 0}, {-1, -1}, {-1, 1}},
	2: {{0, -2}, {-1, -1}, {-2, 0}, {-1, 1}},
	4: {{0, -2}, {-2, 0}, {-2, -2}, {-2, 2}},
}

// lowerSteps lead to codes of the level before: here and around.
var lowerSteps = map[int][]step{
	1: {{0, 0}, {0, -1}, {-1, 0}, {0, 1}, {1, 0}},
	2: {{0, 0}, {-1, -1}, {-1, 1}, {1, -1}, {1, 1}},
	4: {{0, 0}, {0, -2}, {-2, 0}, {0, 2}, {2, 0}},
}

var (
	besideSteps   = []step{{0, -1}, {-1, 0}, {0, 1}, {1, 0}}
	diagonalSteps = []step{{-1, -1}, {-1, 1}, {1, -1}, {1, 1}}
)

// outside is a code of another plane, relative to a place.
type outside struct {
	of *levelModel
	step
	level int
}

// outsides lists the codes of planes before this one that help to predict its codes: those of the level before or, in the
// first level of a later phase, those of the nearest cells of earlier phases.
func (m *Model) outsides(own, level int) (list []outside) {
	phases := m.phases
	if level > 0 {
		for _, s := range lowerSteps[phases] {
			list = append(list, outside{m.at(own, level-1), s, level - 1})
		}
		return list
	}
	steps := besideSteps
	if phases == 4 && own == 1 {
		steps = diagonalSteps // of the cells beside, none is earlier
	}
	for _, s := range steps {
		if own == 0 {
			break
		}
		y, x := cellOf(phases, own)
		list = append(list, outside{m.at(phase.Of(phases, y+s.down, x+s.right), 0), s, 0})
	}
	return list
}

// cellOf returns a cell of a phase.
func cellOf(phases, own int) (y, x int) {
	for y = range 2 {
		for x = range 2 {
			if phase.Of(phases, y, x) == own {
				return y, x
			}
		}
	}
	return 0, 0
}
