package vq

import (
	"context"
	"math"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/weights"
)

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
	o := index.KMeansOptions{Seed: seed, Iterations: startIterations}
	centers, _, err := index.KMeans(context.Background(), codes.Data, k, d, groups, o)
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
