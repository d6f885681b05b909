package radius

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// Two levels: the codes of each row, and which rows and levels are in use.
var (
	twoLevels = [][]int32{{0, 1}, {1, 1}, {0, 2}, {2, 0}, {1, 1}, {0, 0}}
	someRows  = []float64{1, 1, 1, 1, 1, 0} // the last is padding
)

func twoLevelPoint(seed uint64) gradtest.Inputs {
	in, _ := point(Config{Kind: Adaptive, PerCode: true}, seed)
	one, other := in["state/precision"], gradtest.Value{Shape: []int{codes, dim}, Data: make([]float64, codes*dim)}
	for i := range other.Data {
		other.Data[i] = 2 + 0.1*float64(i)
	}
	in["state/precision"] = gradtest.Value{Shape: []int{2 * codes, dim}, Data: append(append([]float64{}, one.Data...), other.Data...)}
	return in
}

func twoLevelInputs(n map[string]*graph.Node, active ...float64) Inputs {
	g := n["z"].Graph()
	in := Inputs{Vars: weights.FromNodes(n), Index: graph.Const(g, twoLevels), Mask: graph.Const(g, someRows)}
	if active != nil {
		in.Active = graph.Const(g, active)
	}
	return in
}

// A code's precision follows the errors of the rows in use that chose it at its level; codes without
// such rows, padding and levels out of use change nothing.
func TestAdaptivePrecisionByLevelAndMask(t *testing.T) {
	c := Default()
	c.Kind, c.Decay, c.PerCode = Adaptive, 0.25, true
	in := twoLevelPoint(29)
	for _, active := range [][]float64{nil, {1, 1}, {1, 0}} {
		got := gradtest.Eval[float64](t, in, func(n map[string]*graph.Node) []*graph.Node {
			return []*graph.Node{c.Updates(twoLevelInputs(n, active...), n["z"], n["code"])["state/precision"]}
		})[0]
		for l := range 2 {
			for k := range codes {
				for j := range dim {
					at := (l*codes+k)*dim + j
					sum, count := 0.0, 0.0
					for i, own := range twoLevels {
						if int(own[l]) == k && someRows[i] == 1 {
							d := in["code"].Data[i*dim+j] - in["z"].Data[i*dim+j]
							sum, count = sum+d*d, count+1
						}
					}
					want := in["state/precision"].Data[at]
					if count > 0 && (active == nil || active[l] == 1) {
						want = 0.75*want + 0.25/(sum/count+adaptiveFloor)
					}
					if math.Abs(got[at]-want) > 1e-9 {
						t.Errorf("levels in use %v, level %d, code %d, dimension %d: %v, want %v", active, l, k, j, got[at], want)
					}
				}
			}
		}
	}
}

// The gradients of two levels are those of the mean precision of a row's codes: grad_z = g + ⟨D,g⟩/r · dr/dz
// in ratio mode.
func TestAdaptiveGradientOfTwoLevels(t *testing.T) {
	c := Default()
	c.Kind, c.PerCode, c.MaxK = Adaptive, true, 50
	in := twoLevelPoint(31)
	for _, active := range [][]float64{nil, {0, 1}} {
		got := gradtest.Autodiff[float64](t, in, func(n map[string]*graph.Node) *graph.Node {
			zq := c.Connect(twoLevelInputs(n, active...), n["z"], n["code"])
			return graph.ReduceAllSum(graph.Mul(graph.StopGradient(n["g"]), zq))
		})
		var wantZ, wantCode []float64
		for i, own := range twoLevels {
			a, square, along := make([]float64, dim), 0.0, 0.0
			for j := range dim {
				first, second := in["state/precision"].Data[int(own[0])*dim+j], in["state/precision"].Data[(codes+int(own[1]))*dim+j]
				if a[j] = (first + second) / 2; active != nil {
					a[j] = second
				}
				d := in["code"].Data[i*dim+j] - in["z"].Data[i*dim+j]
				square, along = square+a[j]*d*d, along+d*in["g"].Data[i*dim+j]
			}
			for j := range dim {
				d, g := in["code"].Data[i*dim+j]-in["z"].Data[i*dim+j], in["g"].Data[i*dim+j]
				pulled := a[j] * d * along / square // dr/dD ⟨D,g⟩/r with dr/dD = aD/r
				wantZ, wantCode = append(wantZ, g-pulled), append(wantCode, pulled)
			}
		}
		gradtest.Close(t, "z", got["z"], wantZ, 1e-9)
		gradtest.Close(t, "code", got["code"], wantCode, 1e-9)
	}
}

// One precision for all codes is that of the rows in use.
func TestAdaptivePrecisionIgnoresPadding(t *testing.T) {
	c := Default()
	c.Kind, c.Decay = Adaptive, 0.25
	in, _ := point(c, 37)
	got := gradtest.Eval[float64](t, in, func(n map[string]*graph.Node) []*graph.Node {
		return []*graph.Node{c.Updates(twoLevelInputs(n), n["z"], n["code"])["state/precision"]}
	})[0]
	for j := range dim {
		mean := 0.0
		for i := range rows - 1 {
			d := in["code"].Data[i*dim+j] - in["z"].Data[i*dim+j]
			mean += d * d / (rows - 1)
		}
		if want := 0.75*in["state/precision"].Data[j] + 0.25/(mean+adaptiveFloor); math.Abs(got[j]-want) > 1e-9 {
			t.Errorf("dimension %d: %v, want %v", j, got[j], want)
		}
	}
}

// The precisions of many codes are found without a table of rows by codes, which would hold 4 GiB here.
func TestAdaptivePrecisionOfManyCodesIsSmall(t *testing.T) {
	c := Default()
	c.Kind, c.PerCode = Adaptive, true
	const n, k = 16384, 65536
	index := make([][]int32, n)
	for i := range index {
		index[i] = []int32{int32(i * 4)}
	}
	in := gradtest.Inputs{
		"z":               {Shape: []int{n, 1}, Data: make([]float64, n)},
		"code":            {Shape: []int{n, 1}, Data: make([]float64, n)},
		"state/precision": {Shape: []int{k, 1}, Data: make([]float64, k)},
	}
	largest := 0
	gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		inputs := Inputs{Vars: weights.FromNodes(nodes), Index: graph.Const(nodes["z"].Graph(), index)}
		next := c.Updates(inputs, nodes["z"], nodes["code"])["state/precision"]
		for _, node := range next.Graph().Nodes() {
			if node.NumOutputs() == 1 {
				largest = max(largest, node.Shape().Size())
			}
		}
		return []*graph.Node{next}
	})
	if largest > k {
		t.Errorf("the largest array has %d numbers, the table of precisions %d", largest, k)
	}
}

// Softplus stays finite for stored values that exp cannot hold.
func TestLearnedScalarOfAnySize(t *testing.T) {
	c := Default()
	c.Kind, c.Mode, c.Scalar = Clipped, UnitHard, Setting{Value: 1, Use: Learned, End: 1}
	for _, scalar := range []float64{1e-3, 1, 50, 100, 1000} {
		c.Scalar.Value = scalar
		raw := c.Init(1, 1, 1)["radius/scalar"].Data[0]
		in := gradtest.Inputs{"radius/scalar": {Shape: []int{1}, Data: []float64{float64(raw)}}}
		theta := func(n map[string]*graph.Node) *graph.Node {
			x := n["radius/scalar"]
			return c.scalar(Inputs{Vars: weights.FromNodes(n)}, x)
		}
		got := gradtest.Eval[float32](t, in, func(n map[string]*graph.Node) []*graph.Node { return []*graph.Node{theta(n)} })[0][0]
		if math.Abs(float64(got)/scalar-1) > 1e-5 {
			t.Errorf("the scalar %g starts at %g", scalar, got)
		}
		slope := gradtest.Autodiff[float32](t, in, theta)["radius/scalar"][0]
		if want := 1 / (1 + math.Exp(-float64(raw))); math.Abs(float64(slope)-want) > 1e-6 {
			t.Errorf("the slope at %g is %g, want %g", raw, slope, want)
		}
	}
}
