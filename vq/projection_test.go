package vq

import (
	"math"
	"testing"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// projected is x in + bias in plain loops: the way in ("in") or back ("out") of
// one level's projection.
func projected(in gradtest.Inputs, level, way string, x matrix) matrix {
	w, bias := in[level+"/project/"+way], in[level+"/project/"+way+"_bias"]
	width := w.Shape[1]
	out := matrix{make([]float64, x.rows()*width), width}
	for n := range x.rows() {
		for j := range width {
			out.row(n)[j] = bias.Data[j]
			for i, v := range x.row(n) {
				out.row(n)[j] += v * w.Data[i*width+j]
			}
		}
	}
	return out
}

// implicitSurrogate is Σ weight·soft + loss of projected levels in float64,
// where coordinates pass through bound, and the step from a bounded coordinate
// to its code is frozen where the surrogate was built.
type implicitSurrogate struct {
	levels []string
	bound  func(i int, y float64) float64
	round  func(i int, b float64) float64
	unit   func(i int) float64 // a code's coordinate per rounded value
	loss   func(y, codes matrix) float64
	steps  map[string][]float64
}

func (s *implicitSurrogate) value(in gradtest.Inputs, weight []float64) float64 {
	if s.steps == nil {
		s.steps = map[string][]float64{}
	}
	z := in["z"]
	rest := matrix{append([]float64(nil), z.Data...), z.Shape[1]}
	total := 0.0
	for _, level := range s.levels {
		y := projected(in, level, "in", rest)
		codes := matrix{make([]float64, len(y.data)), y.d}
		steps, frozen := s.steps[level]
		for at, v := range y.data {
			b := s.bound(at%y.d, v)
			if !frozen {
				steps = append(steps, s.round(at%y.d, b)-b)
			}
			codes.data[at] = (b + steps[at]) * s.unit(at%y.d)
		}
		s.steps[level] = steps
		if s.loss != nil {
			total += s.loss(y, codes)
		}
		soft := projected(in, level, "out", codes)
		for at, v := range soft.data {
			total += weight[at] * v
			rest.data[at] -= v
		}
	}
	return total
}

// check compares the quantizer's gradients with finite differences of the
// surrogate, in float64 and float32.
func (s *implicitSurrogate) check(t *testing.T, f fixture) {
	t.Helper()
	weight := random(newRand(5), f.z.Shape...)
	in := f.inputs()
	s.value(in, weight.Data) // freezes the steps
	names := []string{"z"}
	for _, level := range s.levels {
		names = append(names, level+"/project/in", level+"/project/in_bias", level+"/project/out", level+"/project/out_bias")
	}
	got, single := gradients(t, f, weight, 1), gradients32(t, f, weight)
	for _, name := range names {
		want := gradtest.FiniteDifference(in, name, func(in gradtest.Inputs) float64 { return s.value(in, weight.Data) })
		if dot(want, want) == 0 {
			t.Errorf("%s receives no gradient", name)
		}
		gradtest.Close(t, name, got[name], want, 1e-6)
		gradtest.Close(t, name+" in float32", single[name], want, 1e-3)
	}
}

// A sample far from the origin, flat in all but two directions, is projected on
// those two, centered and at the asked spread, and fitted from its codes.
func TestProjectionStartsOnPrincipalComponents(t *testing.T) {
	rng := newRand(8)
	const n, dim = 400, 5
	rows := weights.New(n, dim)
	directions := [2][dim]float64{{0.6, 0.8, 0, 0, 0}, {0, 0, 0.8, -0.6, 0}}
	for i := range n {
		a, b := 5*rng.NormFloat64(), 3*rng.NormFloat64()
		for j := range dim {
			rows.Row(i)[j] = float32(10 + a*directions[0][j] + b*directions[1][j] + 1e-3*rng.NormFloat64())
		}
	}
	p := projection{dim: dim, width: 2}
	keep := coder{center: []float64{-0.5, 0.25}, spread: 0.7, round: func([]float64) {}}
	set, err := p.variables("data", Latents{Rows: rows.Data, N: n, Dim: dim}, keep, rng)
	if err != nil {
		t.Fatal(err)
	}
	in := gradtest.Inputs{}
	for name, a := range set {
		in["l/"+name] = widen(a)
	}
	y := projected(in, "l", "in", matrix{widen(rows).Data, dim})
	for i, center := range keep.center {
		mean, square := 0.0, 0.0
		for r := range n {
			mean += y.row(r)[i] / n
			square += y.row(r)[i] * y.row(r)[i] / n
		}
		gradtest.Close(t, "center", []float64{mean}, []float64{center}, 1e-3)
		gradtest.Close(t, "spread", []float64{math.Sqrt(square - mean*mean)}, []float64{0.7}, 1e-3)
	}
	// Nothing is rounded, so the way back inverts the way in.
	back := projected(in, "l", "out", y)
	gradtest.Close(t, "round trip", back.data, widen(rows).Data, 1e-3)
}

// More coordinates than dimensions: every coordinate still varies, differently.
func TestProjectionOntoMoreCoordinatesThanDimensions(t *testing.T) {
	rng := newRand(9)
	rows := weights.Normal(rng, 3, 300, 2)
	keep := coder{center: make([]float64, 5), spread: 1, round: func([]float64) {}}
	set, err := projection{dim: 2, width: 5}.variables("data", Latents{Rows: rows.Data, N: 300, Dim: 2}, keep, rng)
	if err != nil {
		t.Fatal(err)
	}
	in := set["project/in"]
	for i := range 5 {
		length := math.Hypot(float64(in.Row(0)[i]), float64(in.Row(1)[i])) * 3
		if length < 0.05 || length > 4 {
			t.Errorf("coordinate %d has deviation %.3g", i, length)
		}
		for j := range i {
			if in.Row(0)[i] == in.Row(0)[j] {
				t.Errorf("coordinates %d and %d are equal", i, j)
			}
		}
	}
}

func TestProjectionRefusesLatentsThatAreNotFinite(t *testing.T) {
	rows := weights.New(4, 3)
	rows.Data[5] = float32(math.NaN())
	c := small(t, "fsq", 1)
	q, err := New(c, 3)
	if err != nil {
		t.Fatal(err)
	}
	_, err = q.Init(Latents{Rows: rows.Data, N: 4, Dim: 3}, newRand(1))
	mentions(t, err, "level 0", "not finite")
	_, err = q.Init(Latents{Dim: 3}, newRand(1))
	mentions(t, err, "no latents")
}
