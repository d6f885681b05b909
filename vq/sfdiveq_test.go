package vq

import (
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// threaded is SF-DiVeQ's surrogate over plain float64, with segments, shares and
// directions held fixed.
type threaded struct {
	levels  []threadedLevel
	d       int
	indices [][]int
}

type threadedLevel struct {
	path          string
	segment       []int
	share         []float64
	toFrom, toEnd [][]float64 // v₁, v₂ by row
}

// newThreaded follows the noise a step draws: for each level shares [K-1], then
// normals [n,d] for the segment's two ends.
func newThreaded(in gradtest.Inputs, noise [][]float64, levels int, sigma float64) *threaded {
	z := in["z"]
	n, d := z.Shape[0], z.Shape[1]
	s := &threaded{d: d}
	rest := append([]float64(nil), z.Data...)
	for l := range levels {
		shares, first, second := noise[3*l], matrix{noise[3*l+1], d}, matrix{noise[3*l+2], d}
		level := threadedLevel{path: fmt.Sprintf("level%d/codes", l)}
		codes := matrix{in[level.path].Data, d}
		dithered := matrix{make([]float64, len(shares)*d), d}
		for j, share := range shares {
			for i := range d {
				dithered.row(j)[i] = (1-share)*codes.row(j)[i] + share*codes.row(j + 1)[i]
			}
		}
		var index []int
		for i := range n {
			r := rest[i*d : (i+1)*d]
			at := nearest(r, dithered)
			blurred := func(code, noise []float64) []float64 {
				v := make([]float64, d)
				for j := range v {
					v[j] = code[j] - r[j] + sigma*noise[j]
				}
				return unit(v)
			}
			level.segment, level.share = append(level.segment, at), append(level.share, shares[at])
			level.toFrom = append(level.toFrom, blurred(codes.row(at), first.row(i)))
			level.toEnd = append(level.toEnd, blurred(codes.row(at+1), second.row(i)))
			if distance(r, codes.row(at+1)) < distance(r, codes.row(at)) {
				at++
			}
			index = append(index, at)
		}
		s.levels, s.indices = append(s.levels, level), append(s.indices, index)
		_, rest = s.level(in, l, rest)
	}
	return s
}

// level returns the output of a level for residuals [n,d] and its residuals.
func (s *threaded) level(in gradtest.Inputs, l int, rest []float64) (soft, left []float64) {
	level := s.levels[l]
	codes := matrix{in[level.path].Data, s.d}
	for i, at := range level.segment {
		r := rest[i*s.d : (i+1)*s.d]
		from, to := distance(r, codes.row(at)), distance(r, codes.row(at+1))
		for j := range r {
			x := r[j] + from*(1-level.share[i])*level.toFrom[i][j] + to*level.share[i]*level.toEnd[i][j]
			soft, left = append(soft, x), append(left, r[j]-x)
		}
	}
	return soft, left
}

// value is z_q [n,d], the sum of the levels.
func (s *threaded) value(in gradtest.Inputs) []float64 {
	rest, sum := in["z"].Data, make([]float64, len(in["z"].Data))
	for l := range s.levels {
		var soft []float64
		soft, rest = s.level(in, l, rest)
		for i, x := range soft {
			sum[i] += x
		}
	}
	return sum
}

// drawnThreads is the noise of [seeded] in the order a step draws it; without
// blur no normals are drawn.
func drawnThreads[T gradtest.Float](t *testing.T, f fixture, levels int, blur bool) [][]float64 {
	return gradtest.Eval[T](t, f.inputs(), func(in map[string]*graph.Node) []*graph.Node {
		r, codes := seeded(in["z"]), in["level0/codes"]
		var drawn []*graph.Node
		for range levels {
			segments := graph.Slice(codes, graph.AxisRange(1), graph.AxisRange(0, 1))
			drawn = append(drawn, r.Uniform(segments))
			for range 2 {
				if blur {
					drawn = append(drawn, r.Normal(in["z"]))
				} else {
					drawn = append(drawn, graph.ZerosLike(in["z"]))
				}
			}
		}
		return drawn
	})
}

func checkThreaded[T gradtest.Float](t *testing.T, f fixture, levels int, sigma, tolerance float64) {
	t.Helper()
	in := f.inputs()
	s := newThreaded(in, drawnThreads[T](t, f, levels, sigma > 0), levels, sigma)
	weight := random(newRand(12), f.z.Shape...)
	soft, got := noisyGradients[T](t, f, weight)
	gradtest.Close(t, "forward", soft, s.value(in), tolerance)
	variables := []string{"z"}
	for _, level := range s.levels {
		variables = append(variables, level.path)
	}
	for _, v := range variables {
		want := gradtest.FiniteDifference(in, v, func(in gradtest.Inputs) float64 { return dot(s.value(in), weight.Data) })
		gradtest.Close(t, v, got[v], want, tolerance)
	}
	index := gradtest.Eval[T](t, in, func(in map[string]*graph.Node) []*graph.Node {
		ctx := training(in)
		ctx.Random = seeded(in["z"])
		return []*graph.Node{f.q.Build(ctx, in["z"]).Index}
	})[0]
	for i := range f.z.Shape[0] {
		for l := range levels {
			if want := s.indices[l][i]; int(index[i*levels+l]) != want {
				t.Errorf("row %d level %d: index %v, the segment's nearer end is %d", i, l, index[i*levels+l], want)
			}
		}
	}
}

func TestSpaceFillingDiVeQFormula(t *testing.T) {
	for _, sigma := range []float64{0, 1e-3, 0.5} {
		for _, levels := range []int{1, 2} {
			c := small(t, "sf-diveq", levels)
			c.Noise = sigma
			f := newFixture(t, c, 3, 12)
			checkThreaded[float64](t, f, levels, sigma, 1e-6)
			checkThreaded[float32](t, f, levels, sigma, 1e-3)
		}
	}
}

// Two codes make one segment, which every latent is assigned to; without noise
// z_q is a point of it.
func TestTwoCodesAreOneSegment(t *testing.T) {
	c := small(t, "sf-diveq", 1)
	c.Codes, c.Noise = 2, 0
	f := newFixture(t, c, 3, 8)
	got := gradtest.Eval[float64](t, f.inputs(), func(in map[string]*graph.Node) []*graph.Node {
		return []*graph.Node{f.q.Build(noisyStep(in, 1), in["z"]).Soft}
	})[0]
	codes := matrix{f.inputs()["level0/codes"].Data, 3}
	for i := range 8 {
		bent := distance(codes.row(0), got[i*3:i*3+3]) + distance(got[i*3:i*3+3], codes.row(1)) - distance(codes.row(0), codes.row(1))
		if math.Abs(bent) > 1e-9 {
			t.Errorf("row %d lies %g off the segment", i, bent)
		}
	}
}

// The dithered targets fill segments evenly. Codes are the integers and latents
// halfway between them, so that each takes the segment around it, and z_q is its
// dithered code.
func TestDitherIsUniform(t *testing.T) {
	const segments = 4000
	z := gradtest.Value{Shape: []int{segments, 1}}
	codes := gradtest.Value{Shape: []int{segments + 1, 1}, Data: []float64{segments}}
	for i := range segments {
		z.Data = append(z.Data, float64(i)+0.5)
		codes.Data = append(codes.Data, float64(segments-1-i))
	}
	c := small(t, "sf-diveq", 1)
	c.Codes, c.Noise = segments+1, 0
	q, err := New(c, 1)
	if err != nil {
		t.Fatal(err)
	}
	got := gradtest.Eval[float64](t, gradtest.Inputs{"z": z, "level0/codes": codes}, func(in map[string]*graph.Node) []*graph.Node {
		return []*graph.Node{q.Build(noisyStep(in, 1), in["z"]).Soft}
	})[0]
	var bins [4]float64
	for i, x := range got {
		along := x - float64(i)
		if along < 0 || along >= 1 {
			t.Fatalf("latent %d went to %g", i, x)
		}
		bins[int(4*along)] += 1. / segments
	}
	for i, share := range bins {
		if math.Abs(share-0.25) > 5*math.Sqrt(0.25*0.75/segments) {
			t.Errorf("quarter %d of the segments is hit with frequency %.3f", i, share)
		}
	}
}

func TestSpaceFillingSettings(t *testing.T) {
	for field, break_ := range map[string]func(c *Config){
		"quantizer.learn":        func(c *Config) { c.Learn = "ema" },
		"quantizer.cache.period": func(c *Config) { c.Cache.Period = 4 },
	} {
		c := mustDefaults(t, "sf-diveq")
		break_(&c)
		mentions(t, c.Validate(8), field, "sf-diveq")
	}
	if c := mustDefaults(t, "sf-diveq"); c.Resets.Every != 0 {
		t.Errorf("codes of a curve are reset every %d steps", c.Resets.Every)
	}
}

// Started by k-means, the curve takes a short way through the same codes;
// started from data, codes are the means of consecutive latents.
func TestCurveStarts(t *testing.T) {
	c := small(t, "sf-diveq", 1)
	c.Start.From, c.Codes = "kmeans", 40
	_, _, curved := startFixture(t, c, 2, 800)
	c.Method = "ste"
	_, _, plain := startFixture(t, c, 2, 800)
	walked, straight := curved["level0/codes"], plain["level0/codes"]
	left := map[[2]float32]bool{}
	for i := range 40 {
		left[[2]float32(straight.Row(i))] = true
	}
	for i := range 40 {
		delete(left, [2]float32(walked.Row(i)))
	}
	if len(left) > 0 {
		t.Errorf("the curve misses %d centres", len(left))
	}
	if long, short := curveLength(straight), curveLength(walked); short > 0.4*long {
		t.Errorf("the curve is %.2f long, %.2f in the order of clustering", short, long)
	}

	means := chunkMeans(Latents{Rows: []float32{1, 3, 10, 20, 30}, N: 5, Dim: 1}, 2)
	if means.Data[0] != 2 || means.Data[1] != 20 {
		t.Errorf("chunk means %v, want 2 and 20", means.Data)
	}
	c = small(t, "sf-diveq", 1)
	_, sample, set := startFixture(t, c, 2, 600)
	want := float32(0)
	for i := range 100 {
		want += sample.Rows[i*2] / 100
	}
	if got := set["level0/codes"].Row(0)[0]; math.Abs(float64(got-want)) > 1e-5 {
		t.Errorf("the first code starts at %g, the first chunk's mean is %g", got, want)
	}
}

func curveLength(codes *weights.Array) float64 {
	wide, sum := matrix{widen(codes).Data, codes.Shape[1]}, 0.0
	for i := range codes.Shape[0] - 1 {
		sum += distance(wide.row(i), wide.row(i+1))
	}
	return sum
}

// A walk visits every code once and is far shorter than the order it was given,
// also when there are so many codes that it goes from cluster to cluster.
func TestWalkIsShort(t *testing.T) {
	for _, k := range []int{1, 2, 100, walkAtOnce + 500} {
		codes := weights.Normal(newRand(1), 1, k, 2)
		order, err := walk(t.Context(), codes, 1)
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
