package vq

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/radius"
)

// surrogate is the closed form of the paper's estimator over plain float64, with
// everything under stop-gradient frozen where it was built.
type surrogate struct {
	config  Config
	levels  []string  // paths of the levels' variables
	chosen  [][]int   // [level][row]
	z, hard []float64 // [n,d], frozen
	d       int
}

func newSurrogate(c Config, in gradtest.Inputs, levels ...string) *surrogate {
	z := in["z"]
	n, d := z.Shape[0], z.Shape[1]
	s := &surrogate{config: c, levels: levels, d: d, z: append([]float64(nil), z.Data...), hard: make([]float64, n*d)}
	for _, level := range levels {
		codes, chosen := linearCodes(in, level), make([]int, n)
		for i := range n {
			rest := make([]float64, d)
			for j := range rest {
				rest[j] = z.Data[i*d+j] - s.hard[i*d+j]
			}
			chosen[i] = nearest(rest, codes)
		}
		for i, code := range chosen {
			for j, x := range codes.row(code) {
				s.hard[i*d+j] += x
			}
		}
		s.chosen = append(s.chosen, chosen)
	}
	return s
}

// value is Σ weight·z_q with
// z_q = sg ẑ + (z - sg z) + sg[k s]⟨sg s, (ẑ - sg ẑ) - (z - sg z)⟩.
func (s *surrogate) value(in gradtest.Inputs, weight []float64) float64 {
	hard := make([]float64, len(s.hard))
	for l, level := range s.levels {
		codes := linearCodes(in, level)
		for i, code := range s.chosen[l] {
			for j, x := range codes.row(code) {
				hard[i*s.d+j] += x
			}
		}
	}
	total := 0.0
	for i := range len(s.hard) / s.d {
		direction, change := make([]float64, s.d), make([]float64, s.d)
		delta := 0.0
		for j := range direction {
			at := i*s.d + j
			direction[j] = s.hard[at] - s.z[at]
			delta += direction[j] * direction[j]
			change[j] = (hard[at] - s.hard[at]) - (in["z"].Data[at] - s.z[at])
		}
		delta = math.Sqrt(delta)
		for j := range direction {
			direction[j] /= delta
		}
		k := factor(s.config.Radius, delta)
		along := dot(direction, change)
		for j := range direction {
			at := i*s.d + j
			zq := s.hard[at] + (in["z"].Data[at] - s.z[at]) + k*direction[j]*along
			total += weight[at] * zq
		}
	}
	return total
}

// gradients runs the quantizer and differentiates Σ weight·Soft + Loss·lossWeight.
func gradients(t *testing.T, f fixture, weight gradtest.Value, lossWeight float64) map[string][]float64 {
	t.Helper()
	in := f.inputs()
	names := in.Names()
	in["weight"] = weight
	values := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		out := f.q.Build(training(nodes), nodes["z"])
		loss := graph.Add(graph.ReduceAllSum(graph.Mul(out.Soft, nodes["weight"])), graph.MulScalar(out.Loss, lossWeight))
		wrt := make([]*graph.Node, len(names))
		for i, name := range names {
			wrt[i] = nodes[name]
		}
		return graph.Gradient(loss, wrt...)
	})
	byName := map[string][]float64{}
	for i, name := range names {
		byName[name] = values[i]
	}
	return byName
}

// factor is k of the radii below.
func factor(r radius.Config, delta float64) float64 {
	switch r.Kind {
	case radius.Huber: // slope
		return math.Min(1, delta/r.Scalar.Value)
	case radius.Power: // elasticity
		return r.Scalar.Value
	}
	return 1
}

var radii = map[string]radius.Config{
	"euclidean": radius.Default(),
	"huber": func() radius.Config {
		r := radius.Default()
		r.Kind, r.Mode, r.Scalar.Value = radius.Huber, radius.UnitHard, 1.5
		return r
	}(),
	"power": func() radius.Config {
		r := radius.Default()
		r.Kind, r.Scalar.Value = radius.Power, 0.6
		return r
	}(),
}

// The gradients of latents, raw codes, A, B and W equal finite differences of
// the closed form; for one level and for the sum of three.
func TestGRITGradients(t *testing.T) {
	for name, r := range radii {
		for levels, paths := range map[int][]string{1: {"level0"}, 3: {"level0", "level1", "level2"}} {
			c := small(t, "grit", levels)
			c.Radius = r
			f := newFixture(t, c, 3, 9)
			weight := random(newRand(5), 9, 3)
			got := gradients(t, f, weight, 0)
			in := f.inputs()
			s := newSurrogate(c, in, paths...)
			variables := []string{"z"}
			for _, p := range paths {
				variables = append(variables, p+"/codes", p+"/mixer/a", p+"/mixer/b", p+"/feature/w")
			}
			for _, v := range variables {
				want := gradtest.FiniteDifference(in, v, func(in gradtest.Inputs) float64 { return s.value(in, weight.Data) })
				gradtest.Close(t, name+" "+v, got[v], want, 1e-6)
			}
		}
	}
}

// One surrogate covers the sum of the levels: the encoder receives g - k⟨g,s⟩s
// for any number of levels.
func TestResidualEncoderGradientIsThatOfTheSum(t *testing.T) {
	for _, levels := range []int{1, 2, 4} {
		c := small(t, "grit", levels)
		c.Radius = radii["power"]
		f := newFixture(t, c, 3, 8)
		weight := random(newRand(6), 8, 3)
		got := gradients(t, f, weight, 0)["z"]
		hard := matrix{f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
			return []*graph.Node{f.q.Build(ctx, z).Hard}
		})[0], 3}
		var want []float64
		for i := range 8 {
			z, g := f.z.Data[i*3:(i+1)*3], weight.Data[i*3:(i+1)*3]
			gap := distance(z, hard.row(i))
			s := make([]float64, 3)
			for j := range s {
				s[j] = (hard.row(i)[j] - z[j]) / gap
			}
			pull := 0.6 * dot(g, s) // k = α in ratio mode
			for j := range s {
				want = append(want, g[j]-pull*s[j])
			}
		}
		gradtest.Close(t, "encoder gradient", got, want, 1e-5)
	}
}

// Learn alone decides whether raw codes are trained, not the transform's own
// switch: under protocol A neither gradients nor resets reach E, under protocol B
// both do.
func TestLearnDecidesTheProtocol(t *testing.T) {
	for _, learn := range []string{"gradient", "frozen"} {
		for _, joint := range []bool{true, false} {
			c := small(t, "grit", 1)
			c.Learn, c.Transform.Joint, c.Transform.Rank = learn, joint, 3
			f := newFixture(t, c, 3, 9)
			g := gradients(t, f, random(newRand(5), 9, 3), 0)["level0/codes"]
			if moves := dot(g, g) > 0; moves != (learn == "gradient") {
				t.Errorf("learn %s, joint %v: codes have a gradient: %v", learn, joint, moves)
			}
			before := widen(f.set["level0/codes"]).Data
			if _, err := Place(f.q, f.set, 0, []int{2}, []float32{1, 2, 3}); err != nil {
				t.Fatal(err)
			}
			change := gradtest.RelativeError(widen(f.set["level0/codes"]).Data, before)
			if moved := change > 0; moved != (learn == "gradient") {
				t.Errorf("learn %s, joint %v: a reset moves raw codes: %v", learn, joint, moved)
			}
		}
	}
}
