package vq

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	. "github.com/gomlx/gomlx/core/graph"
)

// searchBlock bounds the codes scored at once: no [N,K] array for large codebooks.
const searchBlock = 8192

// Nearest returns the index [N] (int32) of the code of codes [K,d] closest to
// each row of z [N,d]; ties go to the lowest index. No gradient flows.
func Nearest(z, codes *Node) *Node { return lowest(z, codes, scores) }

// nearestScaled is [Nearest] for codes scale*c, with scale [N,d].
func nearestScaled(z, scale, codes *Node) *Node {
	return lowest(scaledQuery(z, scale), codes, scaledScores)
}

// choose returns the codes [N] of residuals: those given, or the nearest ones.
func (c *Context) choose(residual, codes *Node) *Node {
	switch {
	case c.Given != nil:
		return Reshape(c.Given, -1)
	case c.Scale != nil:
		return nearestScaled(residual, c.Scale, codes)
	}
	return Nearest(residual, codes)
}

// scaled maps codes [N,d] of the rows to the vectors they stand for, less the shift.
func (c *Context) scaled(codes *Node) *Node {
	if c.Scale == nil {
		return codes
	}
	return Mul(codes, c.Scale)
}

// innovation maps residuals [N,d] to the space of the codes.
func (c *Context) innovation(residual *Node) *Node {
	if c.Scale == nil {
		return residual
	}
	return Div(residual, c.Scale)
}

// lowest returns the code of the lowest score for each row of z.
func lowest(z, codes *Node, scores func(z, codes *Node) *Node) *Node {
	z, codes = StopGradient(z), StopGradient(codes)
	k := codes.Shape().Dimensions[0]
	if k <= searchBlock {
		return ArgMin(scores(z, codes), -1, dtypes.Int32)
	}
	var best, index *Node
	for start := 0; start < k; start += searchBlock {
		end := min(k, start+searchBlock)
		if best != nil {
			z = SchedulingBarrier(z, best) // side by side the blocks would be an [N,K] array again
		}
		block := scores(z, Slice(codes, AxisRange(start, end), AxisRange()))
		lowest := ReduceMin(block, -1)
		at := AddScalar(ArgMin(block, -1, dtypes.Int32), float64(start))
		if best == nil {
			best, index = lowest, at
			continue
		}
		better := LessThan(lowest, best) // strictly: the earlier block keeps ties
		best, index = Where(better, lowest, best), Where(better, at, index)
	}
	return index
}

// scores is |c|²/2 - ⟨z,c⟩ [N,K], half the squared distance less |z|²/2.
func scores(z, codes *Node) *Node {
	half := MulScalar(ReduceSum(Square(codes), -1), 0.5)
	return Sub(ExpandAxes(half, 0), DotGeneral(z, []int{1}, nil, codes, []int{1}, nil))
}

// scaledQuery is [s·z, s²-1] [N,2d] of latents z and scales s [N,d].
func scaledQuery(z, scale *Node) *Node {
	return Concatenate([]*Node{Mul(z, scale), AddScalar(Square(scale), -1)}, -1)
}

// scaledScores is half the squared distance of z to s·c less |z|²/2 [N,K],
//
//	|c|²/2 - ⟨s·z, c⟩ + ⟨s²-1, c²/2⟩,
//
// for a query [N,2d] from [scaledQuery]. The last term is zero to the bit where s is 1.
func scaledScores(query, codes *Node) *Node {
	d := codes.Shape().Dimensions[1]
	first, excess := Slice(query, AxisRange(), AxisRange(0, d)), Slice(query, AxisRange(), AxisRange(d, 2*d))
	return Add(scores(first, codes), DotGeneral(excess, []int{1}, nil, MulScalar(Square(codes), 0.5), []int{1}, nil))
}

// Take gathers rows index [N] of codes [K,d].
func Take(codes, index *Node) *Node { return Gather(codes, ExpandAxes(index, -1)) }

// countsAndSums returns the counts [k] and sums [k,d] of the latents of each code, over
// the rows in use.
func (c *Context) countsAndSums(index, z *Node, k int) (counts, sums *Node) {
	g, dtype, dims := z.Graph(), z.DType(), z.Shape().Dimensions
	at := ExpandAxes(index, -1)
	ones := Ones(g, shapes.Make(dtype, dims[0], 1))
	if c.Mask != nil {
		ones = ExpandAxes(ConvertDType(c.Mask, dtype), -1)
		z = Mul(z, ones)
	}
	counts = Scatter(at, ones, shapes.Make(dtype, k, 1), false, false)
	sums = Scatter(at, z, shapes.Make(dtype, k, dims[1]), false, false)
	return Reshape(counts, k), sums
}

// MeanOver is the mean of values [N] over the rows in use.
func (c *Context) MeanOver(values *Node) *Node {
	if c.Mask == nil {
		return ReduceAllMean(values)
	}
	mask := ConvertDType(c.Mask, values.DType())
	return Div(ReduceAllSum(Mul(values, mask)), MaxScalar(ReduceAllSum(mask), 1))
}

// MeanSquare is the mean over elements of x² for x [N,d], over the rows in use.
func (c *Context) MeanSquare(x *Node) *Node {
	if c.Mask == nil {
		return ReduceAllMean(Square(x))
	}
	return c.MeanOver(ReduceMean(Square(x), -1))
}

// shareOfRows is the weight [N] of each row in a mean over the rows in use.
func (c *Context) shareOfRows(rows *Node) *Node {
	n := rows.Shape().Dimensions[0]
	if c.Mask == nil {
		return BroadcastToDims(Scalar(rows.Graph(), rows.DType(), 1/float64(n)), n)
	}
	mask := ConvertDType(c.Mask, rows.DType())
	return Div(mask, MaxScalar(ReduceAllSum(mask), 1))
}
