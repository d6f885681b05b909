package nn

import "github.com/gomlx/gomlx/core/graph"

// depthwiseConvolution has one kernel a channel, too little work for a matrix product:
// the taps are multiplied and added one after the other.
type depthwiseConvolution struct{ convolution }

// tap is the reading of tap i alone.
func (t taps) tap(i int) taps {
	t.before -= i * t.dilation
	t.kernel = 1
	return t
}

func (c depthwiseConvolution) output(x, kernel *graph.Node) *graph.Node {
	k := graph.Reshape(kernel, -1, c.in) // [kh·kw, channels]
	var sum *graph.Node
	for i := range c.rows.kernel {
		for j := range c.cols.kernel {
			sum = plus(sum, graph.Mul(patches(x, c.layers, c.rows.tap(i), c.cols.tap(j)), row(k, i*c.cols.kernel+j)))
		}
	}
	return graph.Reshape(sum, c.images, c.rows.out, c.cols.out, c.layers*c.out)
}

func (c depthwiseConvolution) inputGradient(adjoint, kernel *graph.Node) *graph.Node {
	k := graph.Reshape(kernel, -1, c.in)
	return c.interleave(adjoint, func(rows, cols phase) *graph.Node {
		var sum *graph.Node
		for a, i := range rows.taps {
			for b, j := range cols.taps {
				sum = plus(sum, graph.Mul(patches(adjoint, c.layers, rows.reads.tap(a), cols.reads.tap(b)), row(k, i*c.cols.kernel+j)))
			}
		}
		return sum
	})
}

func (c depthwiseConvolution) kernelGradient(x, adjoint *graph.Node) *graph.Node {
	v := graph.Reshape(adjoint, -1, c.out)
	var taps []*graph.Node
	for i := range c.rows.kernel {
		for j := range c.cols.kernel {
			taps = append(taps, graph.ReduceSum(graph.Mul(patches(x, c.layers, c.rows.tap(i), c.cols.tap(j)), v), 0))
		}
	}
	return graph.Reshape(concatenate(taps), c.rows.kernel, c.cols.kernel, 1, c.in)
}

func row(matrix *graph.Node, i int) *graph.Node {
	rows := matrix.Shape().Dimensions[0]
	return padAxes(matrix, graph.PadAxis{Start: -i, End: i + 1 - rows}, graph.PadAxis{})
}

func plus(sum, term *graph.Node) *graph.Node {
	if sum == nil {
		return term
	}
	return graph.Add(sum, term)
}

// groupedConvolution runs the groups one after the other.
type groupedConvolution struct{ convolution }

func (c groupedConvolution) one() patchConvolution {
	g := c.convolution
	g.in, g.out, g.groups = c.in/c.groups, c.out/c.groups, 1
	return patchConvolution{g, memo{}}
}

func (c groupedConvolution) output(x, kernel *graph.Node) *graph.Node {
	return c.each(func(g int) *graph.Node { return c.one().output(c.channels(x, g), c.channels(kernel, g)) })
}

func (c groupedConvolution) inputGradient(adjoint, kernel *graph.Node) *graph.Node {
	return c.each(func(g int) *graph.Node { return c.one().inputGradient(c.channels(adjoint, g), c.channels(kernel, g)) })
}

func (c groupedConvolution) kernelGradient(x, adjoint *graph.Node) *graph.Node {
	return c.each(func(g int) *graph.Node { return c.one().kernelGradient(c.channels(x, g), c.channels(adjoint, g)) })
}

func (c groupedConvolution) each(build func(group int) *graph.Node) *graph.Node {
	var parts []*graph.Node
	for g := range c.groups {
		parts = append(parts, build(g))
	}
	return concatenate(parts)
}

// channels returns the last axis of a group.
func (c groupedConvolution) channels(x *graph.Node, group int) *graph.Node {
	all := x.Shape().Dimensions[3]
	each := all / c.groups
	return padAxes(x, graph.PadAxis{}, graph.PadAxis{}, graph.PadAxis{}, graph.PadAxis{Start: -group * each, End: (group+1)*each - all})
}
