package vq

import (
	"context"
	"math"

	"github.com/gomlx/compute/dtypes"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// ProjectOnCurve finds the point nearest to each row of z [N,d] on the curve
// through codes [K,d] in their order, K at least 2. It returns the segment [N]
// (int32, 0 to K-2), the share of the way [N,1] from code segment to code
// segment+1, and the point [N,d]. This is how SF-DiVeQ was published to feed its
// decoder at inference; share is a real number, so the point has no index and
// costs more bits than a code. No gradient flows. Graph code: panics on misuse.
func ProjectOnCurve(z, codes *Node) (segment, share, point *Node) {
	z, codes = StopGradient(z), StopGradient(codes)
	segments := codes.Shape().Dimensions[0] - 1
	var best *Node
	for start := 0; start < segments; start += searchBlock {
		end := min(segments, start+searchBlock)
		if best != nil {
			z = SchedulingBarrier(z, best) // one block after the other, as in Nearest
		}
		score := segmentScores(z, Slice(codes, AxisRange(start, end)), Slice(codes, AxisRange(start+1, end+1)))
		lowest := ReduceMin(score, -1)
		at := AddScalar(ArgMin(score, -1, dtypes.Int32), float64(start))
		if best == nil {
			best, segment = lowest, at
			continue
		}
		better := LessThan(lowest, best)
		best, segment = Where(better, lowest, best), Where(better, at, segment)
	}
	from, to := Take(codes, segment), Take(codes, OnePlus(segment))
	along := Sub(to, from)
	covered := ReduceAndKeep(Mul(Sub(z, from), along), ReduceSum, -1)
	share = onSegment(covered, ReduceAndKeep(Square(along), ReduceSum, -1))
	return segment, share, Add(from, Mul(share, along))
}

// segmentScores is the squared distance [N,m] of z [N,d] from the segments
// between rows of from and to [m,d], less |z|².
func segmentScores(z, from, to *Node) *Node {
	along := Sub(to, from)
	offset := ExpandAxes(ReduceSum(Mul(from, along), -1), 0)
	covered := Sub(DotGeneral(z, []int{1}, nil, along, []int{1}, nil), offset) // ⟨z-e, D⟩ [N,m]
	length := ExpandAxes(ReduceSum(Square(along), -1), 0)                      // |D|² [1,m]
	share := onSegment(covered, length)
	corner := MulScalar(scores(z, from), 2)
	return Add(corner, Mul(share, Sub(Mul(share, length), MulScalar(covered, 2))))
}

// onSegment is covered/length within [0,1]; 0 for segments without length.
func onSegment(covered, length *Node) *Node {
	return ClipScalar(Div(covered, MaxScalar(length, 1e-30)), 0, 1)
}

// walkAtOnce bounds the codes that are put in order by comparing all pairs.
const walkAtOnce = 1024

// walk returns an order of codes [K,d] in which neighbours are close: always on
// to the nearest code left. Many codes are clustered first; the walk then visits
// cluster after cluster.
func walk(codes *weights.Array, seed uint64) ([]int, error) {
	k, d := codes.Shape[0], codes.Shape[1]
	all := make([]int, k)
	for i := range all {
		all[i] = i
	}
	if k <= walkAtOnce {
		return walkFrom(codes, all, nil), nil
	}
	groups := int(math.Sqrt(float64(k)))
	centers, _, err := index.KMeans(context.Background(), codes.Data, k, d, groups, index.KMeansOptions{Seed: seed, Iterations: startIterations})
	if err != nil {
		return nil, err
	}
	search, err := index.NewCodes(centers, groups, d)
	if err != nil {
		return nil, err
	}
	group := make([]uint32, k)
	search.Nearest(codes.Data, k, group, nil, 0)
	members := make([][]int, groups)
	for i, g := range group {
		members[g] = append(members[g], i)
	}
	middles := &weights.Array{Shape: []int{groups, d}, Data: centers}
	var order []int
	for _, g := range walkFrom(middles, all[:groups], nil) {
		var last []float32
		if len(order) > 0 {
			last = codes.Row(order[len(order)-1])
		}
		order = append(order, walkFrom(codes, members[g], last)...)
	}
	return order, nil
}

// walkFrom orders rows of codes greedily, beginning with the one nearest to
// last, or with the first where that is nil.
func walkFrom(codes *weights.Array, rows []int, last []float32) []int {
	rest := append([]int(nil), rows...)
	order := make([]int, 0, len(rows))
	for len(rest) > 0 {
		best, at := math.Inf(1), 0
		for i, row := range rest {
			if last == nil {
				break
			}
			sum := 0.0
			for j, x := range codes.Row(row) {
				sum += float64(x-last[j]) * float64(x-last[j])
			}
			if sum < best {
				best, at = sum, i
			}
		}
		order = append(order, rest[at])
		last = codes.Row(rest[at])
		rest[at] = rest[len(rest)-1]
		rest = rest[:len(rest)-1]
	}
	return order
}
