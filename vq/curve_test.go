package vq

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// projectOnHost finds the nearest point of the curve by trying every segment.
func projectOnHost(z []float64, codes matrix) (segment int, share float64, point []float64) {
	best := math.Inf(1)
	for i := range codes.rows() - 1 {
		along, offset := make([]float64, codes.d), make([]float64, codes.d)
		for j := range along {
			along[j], offset[j] = codes.row(i + 1)[j]-codes.row(i)[j], z[j]-codes.row(i)[j]
		}
		at := 0.0
		if length := dot(along, along); length > 0 {
			at = math.Min(1, math.Max(0, dot(offset, along)/length))
		}
		here := make([]float64, codes.d)
		for j := range here {
			here[j] = codes.row(i)[j] + at*along[j]
		}
		if far := distance(z, here); far < best {
			best, segment, share, point = far, i, at, here
		}
	}
	return segment, share, point
}

// Points, also inside blocks of a long curve, beyond its ends and on segments
// without length.
func TestProjectOnCurve(t *testing.T) {
	for _, k := range []int{2, 3, 30, searchBlock + 700} {
		rng := newRand(uint64(k))
		in := gradtest.Inputs{"z": random(rng, 40, 2), "codes": random(rng, k, 2)}
		if k == 30 {
			copy(in["codes"].Data[20:22], in["codes"].Data[18:20]) // codes 9 and 10 coincide
		}
		copy(in["z"].Data, in["codes"].Data[2*k-2:]) // on the last code
		run := gradtest.Eval[float64](t, in, func(in map[string]*graph.Node) []*graph.Node {
			segment, share, point := ProjectOnCurve(in["z"], in["codes"])
			return []*graph.Node{segment, share, point}
		})
		codes, late := matrix{in["codes"].Data, 2}, 0
		for i := range 40 {
			z := in["z"].Data[i*2 : i*2+2]
			_, _, point := projectOnHost(z, codes)
			gradtest.Close(t, "distance", []float64{1 + distance(z, run[2][i*2:i*2+2])}, []float64{1 + distance(z, point)}, 1e-9)
			segment, share := int(run[0][i]), run[1][i]
			if segment < 0 || segment > k-2 || share < 0 || share > 1 {
				t.Fatalf("row %d: share %g of segment %d", i, share, segment)
			}
			if segment >= searchBlock {
				late++
			}
			from, to := codes.row(segment), codes.row(segment+1)
			at := []float64{from[0] + share*(to[0]-from[0]), from[1] + share*(to[1]-from[1])}
			gradtest.Close(t, "point", run[2][i*2:i*2+2], at, 1e-9)
		}
		if k > searchBlock && late == 0 {
			t.Error("no point of the second block is nearest: the test has no force")
		}
	}
}

// In float32 the projection is no further away than the nearest code.
func TestCurveIsNearerThanItsCodes(t *testing.T) {
	rng := newRand(4)
	in := gradtest.Inputs{"z": random(rng, 200, 4), "codes": random(rng, 50, 4)}
	got := gradtest.Eval[float32](t, in, func(in map[string]*graph.Node) []*graph.Node {
		_, _, point := ProjectOnCurve(in["z"], in["codes"])
		return []*graph.Node{point}
	})[0]
	curve, tokens := 0.0, 0.0
	for i := range 200 {
		z, codes := in["z"].Data[i*4:i*4+4], matrix{in["codes"].Data, 4}
		onCurve, code := distance(z, got[i*4:i*4+4]), distance(z, codes.row(nearest(z, codes)))
		if onCurve > code+1e-5 {
			t.Errorf("row %d: %g from the curve, %g from a code of it", i, onCurve, code)
		}
		curve, tokens = curve+onCurve, tokens+code
	}
	if curve > 0.95*tokens {
		t.Errorf("the curve saves nothing: %g against %g", curve, tokens)
	}
}

// A walk visits every code once and is far shorter than the order it was given,
// also when there are so many codes that it goes from cluster to cluster.
func TestWalkIsShort(t *testing.T) {
	for _, k := range []int{1, 2, 100, walkAtOnce + 500} {
		codes := weights.Normal(newRand(1), 1, k, 2)
		order, err := walk(codes, 1)
		if err != nil {
			t.Fatal(err)
		}
		seen, walked := map[int]bool{}, weights.New(k, 2)
		for i, code := range order {
			seen[code] = true
			copy(walked.Row(i), codes.Row(code))
		}
		if len(order) != k || len(seen) != k {
			t.Fatalf("the walk visits %d codes in %d steps, there are %d", len(seen), len(order), k)
		}
		if k > 2 && curveLength(walked) > 0.25*curveLength(codes) {
			t.Errorf("%d codes: the walk is %.1f long, unordered %.1f", k, curveLength(walked), curveLength(codes))
		}
	}
}
