package picture

// axis is how windows of the trained size cover one side of a picture, counted
// in cells of codes.
type axis struct {
	cells  int   // of the picture
	padded int   // cells covered: at least one window
	window int   // cells of a window
	starts []int // first cell of every window, ascending
}

// newAxis spreads as few windows as overlap by a quarter evenly over the cells:
// the first begins at the first cell, the last ends at the last one.
func newAxis(cells, window int) axis {
	a := axis{cells: cells, padded: max(cells, window), window: window}
	stride := window - window/4
	if window > 1 && stride == window { // small windows overlap by one cell
		stride--
	}
	rest := a.padded - window
	count := (rest+stride-1)/stride + 1
	for i := range count {
		a.starts = append(a.starts, i*rest/max(count-1, 1))
	}
	return a
}

// feather returns the share of every window in the places it covers, [window *
// scale] each: cells, at a scale of 1, or their pixels. Across an overlap one fades out as the next fades in,
// linearly; the shares in a place add up to 1.
func (a axis) feather(scale int) [][]float32 {
	side := a.window * scale
	sums := make([]float32, a.padded*scale)
	shares := make([][]float32, len(a.starts))
	for i, start := range a.starts {
		shares[i] = make([]float32, side)
		for x := range shares[i] {
			share := float32(1)
			if i > 0 {
				overlap := (a.starts[i-1] + a.window - start) * scale
				share = min(share, (float32(x)+0.5)/float32(overlap))
			}
			if i < len(a.starts)-1 {
				overlap := (start + a.window - a.starts[i+1]) * scale
				share = min(share, (float32(side-x)-0.5)/float32(overlap))
			}
			shares[i][x] = share
			sums[start*scale+x] += share
		}
	}
	for i, start := range a.starts {
		for x := range shares[i] {
			shares[i][x] /= sums[start*scale+x]
		}
	}
	return shares
}
