package vq

import (
	"context"
	"math"
	"testing"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/weights"
)

// Clusters that lie apart are found in the coordinates of the rows, whatever their principal directions.
func TestClusterFindsClusters(t *testing.T) {
	const k, d, each, noise = 8, 12, 40, 0.01
	centres := weights.Normal(newRand(5), 3, k, d)
	rows := Latents{Rows: weights.Normal(newRand(6), noise, k*each, d).Data, N: k * each, Dim: d}
	for i := range rows.N {
		for j, c := range centres.Row(i % k) {
			rows.Row(i)[j] += c
		}
	}
	j := &jointFit{Fitting: &Fitting{ctx: context.Background(), iterations: 25}, plan: jointPlans[1]}
	found, err := j.cluster(rows, k, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range k {
		nearest := math.Inf(1)
		for at := range k {
			gap := index.SquaredDistance(centres.Row(i), found[at*d:(at+1)*d])
			nearest = min(nearest, math.Sqrt(gap/d))
		}
		if nearest > noise {
			t.Errorf("centre %d is %g away from the nearest that was found", i, nearest)
		}
	}
}

// Rows of few factors: starting in the widest directions leaves less error than k-means from drawn rows with as many updates.
func TestClusterInGrowingDimensions(t *testing.T) {
	const n, d, k = 2000, 48, 64
	var grown, plain float64
	for seed := range uint64(4) {
		factors, mix := weights.Normal(newRand(20+seed), 1, 6, d), weights.Normal(newRand(30+seed), 1, n, 6)
		rows := Latents{Rows: weights.Normal(newRand(40+seed), 0.3, n, d).Data, N: n, Dim: d}
		for i := range n {
			for f := range 6 {
				scale := float32(math.Pow(2, -float64(f)/2)) * mix.Row(i)[f]
				for j, v := range factors.Row(f) {
					rows.Row(i)[j] += scale * v
				}
			}
		}
		left := func(p jointPlan) float64 {
			j := &jointFit{Fitting: &Fitting{ctx: context.Background(), iterations: 25}, plan: p}
			centres, err := j.cluster(rows, k, seed)
			if err != nil {
				t.Fatal(err)
			}
			rest := rows.clone()
			if err := rest.subtractNearest(&weights.Array{Shape: []int{k, d}, Data: centres}); err != nil {
				t.Fatal(err)
			}
			return rest.spread()
		}
		grown += left(jointPlans[1])
		plain += left(jointPlan{updates: jointPlans[1].updates, sweeps: 1})
	}
	if t.Logf("deviations %.4f in growing dimensions, %.4f at once", grown/4, plain/4); !(grown < 0.998*plain) {
		t.Errorf("what is left deviates by %g in growing dimensions, by %g at once", grown, plain)
	}
}
