package picture

// axis lays windows of the trained size over one side of a picture, in cells of
// codes.
type axis struct {
	cells  int   // of the picture
	padded int   // cells covered: at least one window
	window int   // cells of a window
	starts []int // first cell of every window, ascending
}

// newAxis spreads the fewest windows that overlap by a quarter evenly over the
// cells: the first begins at the first cell, the last ends at the last one.
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

// feather returns the weights [window*scale] of every window: of cells at scale
// 1, or of their pixels. Across an overlap one window fades out linearly as the
// next fades in; the weights in a place add up to 1.
func (a axis) feather(scale int) [][]float32 {
	side := a.window * scale
	sums := make([]float32, a.padded*scale)
	weights := make([][]float32, len(a.starts))
	for i, start := range a.starts {
		weights[i] = make([]float32, side)
		for x := range weights[i] {
			weight := float32(1)
			if i > 0 {
				overlap := (a.starts[i-1] + a.window - start) * scale
				weight = min(weight, (float32(x)+0.5)/float32(overlap))
			}
			if i < len(a.starts)-1 {
				overlap := (start + a.window - a.starts[i+1]) * scale
				weight = min(weight, (float32(side-x)-0.5)/float32(overlap))
			}
			weights[i][x] = weight
			sums[start*scale+x] += weight
		}
	}
	for i, start := range a.starts {
		for x := range weights[i] {
			weights[i][x] /= sums[start*scale+x]
		}
	}
	return weights
}
