package index

import "slices"

// layer is the affine map x W + b for rows x [n,in], packed for the kernels. A row's
// result is the same to the bit on every machine and in every batch: see
// kernel.scores.
type layer struct {
	in, out int
	stride  int       // of results: out, rounded up to whole panels
	panels  []float32 // [stride/panelCodes, in, panelCodes]
	first   []int     // [stride/panelCodes] inputs before this one have no weight
	bias    []float32 // [stride]
	kernel  kernel
}

// newLayer packs w [in,out] and bias [out] (nil: zero).
func newLayer(kern kernel, w []float32, in, out int, bias []float32) *layer {
	count := (out + panelCodes - 1) / panelCodes
	l := &layer{in: in, out: out, stride: count * panelCodes, kernel: kern}
	l.panels, l.bias = make([]float32, count*in*panelCodes), make([]float32, l.stride)
	for j := range in {
		for o, v := range w[j*out : (j+1)*out] {
			l.panels[(o/panelCodes*in+j)*panelCodes+o%panelCodes] = v
		}
	}
	copy(l.bias, bias)
	for p := range count {
		used := slices.IndexFunc(l.panels[p*in*panelCodes:(p+1)*in*panelCodes], func(v float32) bool { return v != 0 })
		if used < 0 {
			used = (in - 1) * panelCodes // the kernels take one coordinate at least
		}
		l.first = append(l.first, used/panelCodes)
	}
	return l
}

// groupsOf is the number of groups of n rows.
func groupsOf(n int) int { return (n + groupRows - 1) / groupRows }

// apply returns the results [n,stride] of n rows of x, which begin at multiples of step,
// in memory that out holds afterwards. groups is working memory.
func (l *layer) apply(groups *[]float32, x []float32, n, step int, out *[]float32) []float32 {
	count, size := groupsOf(n), l.in*groupRows
	*groups = resized(*groups, count*size)
	*out = resized(*out, count*groupRows*l.stride)
	interleave(*groups, x, n, l.in, step)
	for p := range l.stride / panelCodes {
		first, bias := l.first[p], l.bias[p*panelCodes:(p+1)*panelCodes]
		panel := l.panels[(p*l.in+first)*panelCodes : (p+1)*l.in*panelCodes]
		for g := range count {
			l.kernel.scores(panel, bias, (*groups)[g*size+first*groupRows:(g+1)*size], (*out)[g*groupRows*l.stride+p*panelCodes:], l.stride)
		}
	}
	return (*out)[:n*l.stride]
}

// table returns the results [n,stride] of x [n,in].
func (l *layer) table(x []float32, n int) []float32 {
	var groups, out []float32
	return l.apply(&groups, x, n, l.in, &out)
}

// interleave writes n rows of d numbers, which begin at multiples of step, to groups
// [groupsOf(n),d,groupRows]; the last group is filled up with the last row.
func interleave(groups, x []float32, n, d, step int) {
	for first := 0; first < n; first += groupRows {
		group := groups[first*d : (first+groupRows)*d]
		for r := 0; r < groupRows; r += 4 {
			at := func(i int) []float32 {
				i = min(first+r+i, n-1)
				return x[i*step : i*step+d]
			}
			x0, x1, x2, x3 := at(0), at(1), at(2), at(3)
			x1, x2, x3 = x1[:len(x0)], x2[:len(x0)], x3[:len(x0)]
			out := group[r:]
			for j := range x0 {
				*(*[4]float32)(out[j*groupRows:]) = [4]float32{x0[j], x1[j], x2[j], x3[j]}
			}
		}
	}
}
