package gpt

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	. "github.com/gomlx/gomlx/core/graph"
)

// draw picks a code [B] (int32) of every row by its logits [B, K] and a uniform number
// [B], as drawer does on the host.
//
// It sorts nothing: an engine's loop has no room for the function that orders two
// values. Distances from the largest logit are not negative, so their bits are ordered
// like the numbers, and the bits of the last distance kept are found digit by digit.
func (f Filter) draw(logits, uniform *Node) *Node {
	logits = ConvertDType(logits, dtypes.Float32)
	if f.greedy() {
		return ArgMax(logits, -1, dtypes.Int32)
	}
	behind := Sub(ReduceAndKeep(logits, ReduceMax, -1), logits)
	mass := Exp(MulScalar(behind, -1/max(f.Temperature, 1e-30))) // a factor beyond float32 would make 0 infinity times 0
	bits := Bitcast(behind, dtypes.Int32)
	if f.limitsCount(logits.Shape().Dim(1)) {
		needed := AddScalar(ZerosLike(ExpandAxes(uniform, -1)), float64(f.TopK))
		mass = leading(bits, OnesLike(mass), mass, needed)
	}
	if f.TopP < 1 {
		mass = leading(bits, mass, mass, MulScalar(rowSum(mass), f.TopP))
	}
	return choose(mass, uniform)
}

// choose returns for each row the first place [B] with mass [B, K] at which its running
// sum exceeds the share [B] of the whole.
func choose(mass, share *Node) *Node {
	g, dims, places := mass.Graph(), mass.Shape().Dimensions, mass.Shape().Dim(1)
	sums := runningSum(mass)
	target := like(Mul(Slice(sums, AxisRange(), AxisRange(places-1, places)), ExpandAxes(share, -1)), sums)
	number := Iota(g, shapes.Make(dtypes.Int32, dims...), 1)
	within := GreaterThan(mass, ZerosLike(mass))
	none := AddScalar(ZerosLike(number), float64(places))
	first := ReduceMin(Where(LogicalAnd(within, GreaterThan(sums, target)), number, none), -1)
	last := ReduceMax(Where(within, number, ZerosLike(number)), -1) // if rounding leaves no place
	return Min(first, last)
}

// leading returns mass [B, K], 0 where a place is not among the leading ones: those
// with the smallest bits [B, K], the first of equal ones before others, whose weights
// [B, K] reach needed [B, 1], including the one that reaches it.
func leading(bits, weight, mass, needed *Node) *Node {
	last := reaching(bits, weight, needed)
	zeros := ZerosLike(weight)
	below := rowSum(Where(LessThan(bits, like(last, bits)), weight, zeros))
	level := Where(Equal(bits, like(last, bits)), weight, zeros)
	before := Add(like(below, level), Sub(runningSum(level), level))
	kept := LogicalOr(LessThan(bits, like(last, bits)),
		LogicalAnd(Equal(bits, like(last, bits)), LessThan(before, like(needed, before))))
	return Where(kept, mass, ZerosLike(mass))
}

// digit is the number of bits found at a time, by one pass over all values.
const digit = 4

// reaching returns the smallest number [B, 1] for which the weights of the bits [B, K]
// up to it reach needed [B, 1].
func reaching(bits, weight, needed *Node) *Node {
	g := bits.Graph()
	rows, places := bits.Shape().Dim(0), bits.Shape().Dim(1)
	found := ZerosLike(Slice(bits, AxisRange(), AxisRange(0, 1)))
	for shift := 31 - 31%digit; shift >= 0; shift -= digit {
		tests := 1<<min(digit, 31-shift) - 1
		edges := make([]int32, tests) // the largest numbers with each value of the digit but the last
		for i := range edges {
			edges[i] = int32((i+1)<<shift - 1)
		}
		candidates := Add(BroadcastToDims(found, rows, tests), ExpandAxes(Const(g, edges), 0)) // [B, tests]
		full := shapes.Make(dtypes.Float32, rows, places, tests)
		within := LessOrEqual(BroadcastToDims(ExpandAxes(bits, -1), full.Dimensions...),
			BroadcastToDims(ExpandAxes(candidates, 1), full.Dimensions...))
		all := BroadcastToDims(ExpandAxes(weight, -1), full.Dimensions...)
		sums := ReduceSum(Where(within, all, Zeros(g, full)), 1) // [B, tests]
		short := ConvertDType(LessThan(sums, like(needed, sums)), dtypes.Int32)
		found = Add(found, MulScalar(rowSum(short), float64(int(1)<<shift)))
	}
	return found
}

// runningSum returns the sums of x [B, K] up to every place, by blocks: some engines sum every prefix from its beginning.
func runningSum(x *Node) *Node {
	rows, places := x.Shape().Dim(0), x.Shape().Dim(1)
	block := 1
	for block*block < places {
		block *= 2
	}
	count := (places + block - 1) / block
	if missing := count*block - places; missing > 0 {
		x = Concatenate([]*Node{x, Zeros(x.Graph(), shapes.Make(x.DType(), rows, missing))}, 1)
	}
	within := CumSum(Reshape(x, rows, count, block), -1)
	whole := Reshape(Slice(within, AxisRange(), AxisRange(), AxisRange(block-1, block)), rows, count)
	before := CumSum(whole, -1, &CumSumOptions{Exclusive: true})
	sums := Add(within, BroadcastToDims(ExpandAxes(before, -1), rows, count, block))
	return Slice(Reshape(sums, rows, count*block), AxisRange(), AxisRange(0, places))
}

func rowSum(x *Node) *Node { return ReduceAndKeep(x, ReduceSum, -1) }

// like broadcasts x [B, 1] to the shape of wide [B, K].
func like(x, wide *Node) *Node { return BroadcastToDims(x, wide.Shape().Dimensions...) }
