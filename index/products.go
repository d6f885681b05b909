package index

import "fmt"

// Products writes the inner products <x_i,y_j> of rows x [n,d] and y [m,d] to out
// [n,m], by the vector kernels in float32: a sum of d products is off by at most about
// d 2^-24 of |x_i||y_j|. It uses one goroutine; callers share out blocks of a few
// hundred rows, which keeps the packed copies in the caches. It panics unless the
// slices have these sizes.
func Products(x []float32, n int, y []float32, m, d int, out []float32) {
	if d < 1 || len(x) != n*d || len(y) != m*d || len(out) != n*m {
		panic(fmt.Sprintf("index.Products: %d and %d numbers are not %d and %d rows of %d, or %d no matrix of them",
			len(x), len(y), n, m, d, len(out)))
	}
	productsWith(fusedScores(bestKernel), x, n, y, m, d, out)
}

func productsWith(
	scores func(panel, half, group []float32, out []float32, stride int), x []float32, n int, y []float32, m, d int, out []float32,
) {
	groups := (n + groupRows - 1) / groupRows
	packed := make([]float32, groups*d*groupRows) // [groups,d,groupRows]; rows beyond n are zero
	for i := range n {
		group := packed[i/groupRows*d*groupRows:]
		for j, v := range x[i*d : (i+1)*d] {
			group[j*groupRows+i%groupRows] = v
		}
	}
	panel := make([]float32, d*panelCodes)
	var none [panelCodes]float32 // the products start at zero
	var block [groupRows * panelCodes]float32
	for first := 0; first < m; first += panelCodes {
		count := min(panelCodes, m-first)
		for i := range count {
			row := y[(first+i)*d : (first+i+1)*d]
			for j, v := range row {
				panel[j*panelCodes+i] = v
			}
		}
		for g := range groups {
			scores(panel, none[:], packed[g*d*groupRows:(g+1)*d*groupRows], block[:], panelCodes)
			for r := range min(groupRows, n-g*groupRows) {
				copy(out[(g*groupRows+r)*m+first:][:count], block[r*panelCodes:])
			}
		}
	}
}
