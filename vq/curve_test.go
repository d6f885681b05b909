package vq

import (
	"math"
	"testing"

	"github.com/gritvq/gritvq/weights"
)

// The projection is on the curve, and no point of the curve, corners included, is nearer.
func TestCurveProjection(t *testing.T) {
	for _, parts := range []int{1, 2} {
		c := small(t, "sf-diveq", 2)
		c.Codes, c.Parts = 7, parts
		const dim, n = 6, 70 // more rows than a block
		q, err := New(c, dim)
		if err != nil {
			t.Fatal(err)
		}
		rng := weights.Rand(5, "curve")
		var books []*weights.Array
		for position := range q.Layout().Positions() {
			from, to := q.Layout().Bounds(position / 2)
			books = append(books, weights.Normal(rng, 1, 7, to-from))
		}
		z := weights.Normal(rng, 2, n, dim).Data
		curve := NewCurve(q, books)
		for _, levels := range []int{1, 2, 0} {
			got, want := curve.Project(z, n, levels, 0), make([]float64, n*dim)
			for part := range parts {
				from, to := q.Layout().Bounds(part)
				for i := range n {
					rest := make([]float64, to-from)
					for j := range rest {
						rest[j] = float64(z[i*dim+from+j])
					}
					for level := range levels + 2*(1-min(levels, 1)) {
						nearest := sampledCurve(rest, books[part*2+level])
						for j, x := range nearest {
							want[i*dim+from+j] += x
							rest[j] -= x
						}
					}
				}
			}
			worst := 0.0
			for i, x := range want {
				worst = math.Max(worst, math.Abs(x-float64(got[i])))
			}
			if worst > 4e-3 { // of the sampling
				t.Errorf("%d parts, %d levels: the projection is %g off the nearest of the sampled points", parts, levels, worst)
			}
		}
	}
	if NewCurve(mustNew(t, small(t, "diveq", 1), 4), nil) != nil {
		t.Error("the codes of diveq are no curve")
	}
}

// sampledCurve is the nearest of many points of the curve.
func sampledCurve(z []float64, corners *weights.Array) (nearest []float64) {
	const steps = 2000
	best := math.Inf(1)
	for segment := range corners.Shape[0] - 1 {
		for step := range steps + 1 {
			share, distance, point := float64(step)/steps, 0.0, make([]float64, len(z))
			for j := range z {
				point[j] = (1-share)*float64(corners.Row(segment)[j]) + share*float64(corners.Row(segment + 1)[j])
				distance += (point[j] - z[j]) * (point[j] - z[j])
			}
			if distance < best {
				best, nearest = distance, point
			}
		}
	}
	return nearest
}

func mustNew(t *testing.T, c Config, dim int) Quantizer {
	t.Helper()
	q, err := New(c, dim)
	if err != nil {
		t.Fatal(err)
	}
	return q
}
