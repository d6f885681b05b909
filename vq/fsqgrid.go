package vq

// publishedGrids are the grids of the FSQ paper, by the number of codes they
// stand in for.
var publishedGrids = map[int]radix{
	1 << 7:  {5, 5, 5},
	1 << 8:  {8, 6, 5},
	1 << 9:  {8, 8, 8},
	1 << 10: {8, 5, 5, 5},
	1 << 12: {7, 5, 5, 5, 5},
	1 << 14: {8, 8, 8, 6, 5},
	1 << 16: {8, 8, 8, 5, 5, 5},
}

// gridFor returns the grid of about the given number of codes: the published
// one, and otherwise the grid of the most points, not above codes, with 5 to 8
// values a dimension (the paper's advice; from 2 values below 25 codes), the
// fewest dimensions on a tie. Values do not increase from one dimension to the
// next.
func gridFor(codes int) radix {
	if grid, ok := publishedGrids[codes]; ok {
		return grid
	}
	least := 5
	if codes < 25 {
		least = 2
	}
	var best radix
	var extend func(grid radix, size int)
	extend = func(grid radix, size int) {
		if len(best) == 0 || size > best.size() || size == best.size() && len(grid) < len(best) {
			best = append(radix(nil), grid...)
		}
		most := 8
		if len(grid) > 0 {
			most = grid[len(grid)-1]
		}
		for values := most; values >= least; values-- {
			if size*values <= codes {
				extend(append(grid[:len(grid):len(grid)], values), size*values)
			}
		}
	}
	extend(nil, 1)
	return best
}
