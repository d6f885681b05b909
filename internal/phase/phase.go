// Package phase divides the cells of a grid into phases that are coded one after the other, so that the cells of a later
// phase have neighbours of earlier ones.
package phase

// Of returns the phase, from 0, of a cell of a grid.
//
// Two phases are a checkerboard: cells with an even sum of row and column, then the others. Four divide each of them:
// (even, even), (odd, odd), (even, odd), (odd, even). With any other number there is one phase.
func Of(phases, row, column int) int {
	odd := row&1 ^ column&1
	switch phases {
	case 2:
		return odd
	case 4:
		return odd<<1 | row&1
	}
	return 0
}

// Cells lists the cells y*width+x of every phase of a grid, each in ascending order.
func Cells(phases, height, width int) [][]int {
	cells := make([][]int, max(1, phases))
	for y := range height {
		for x := range width {
			p := Of(phases, y, x)
			cells[p] = append(cells[p], y*width+x)
		}
	}
	return cells
}
