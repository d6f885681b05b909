package radius

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// cases covers every family at scalars that put the test points on both sides
// of each family's knee.
func cases() []Config {
	var list []Config
	add := func(kind Kind, scalar float64, edit ...func(*Config)) {
		c := Default()
		c.Kind, c.Scalar.Value, c.MaxK = kind, scalar, 50
		for _, e := range edit {
			e(&c)
		}
		list = append(list, c)
	}
	add(Euclidean, 1)
	add(Clipped, 1.1)
	add(Power, 0.5)
	add(Power, 1.3)
	add(Huber, 1.1)
	add(SoftClip, 0.9)
	add(PseudoHuber, 0.8)
	add(PseudoHuber, 0.8, func(c *Config) { c.PaperScale = true })
	add(Temperature, 0.7)
	add(PNorm, 1)
	add(PNorm, 1.5)
	add(PNorm, 3)
	add(PNorm, math.Inf(1))
	for _, metric := range []string{"diagonal", "low-rank", "full"} {
		add(Mahalanobis, 1, func(c *Config) { c.Metric, c.Rank = metric, 2 })
		add(Mahalanobis, 1, func(c *Config) { c.Metric, c.Rank, c.Learned = metric, 2, true })
	}
	add(Adaptive, 1)
	add(Adaptive, 1, func(c *Config) { c.PerCode = true })
	return list
}

func (c Config) label() string {
	return fmt.Sprintf("%s-%g%s-%s learned=%v", c.Kind, c.Scalar.Value, c.Metric, c.Mode, c.Learned)
}

const rows, dim, codes = 6, 4, 3

// point returns latents, codes and an arbitrary upstream gradient; row 0 has a
// large gap and row 1 a small one.
func point(c Config, seed uint64) (gradtest.Inputs, Metric) {
	rng := rand.New(rand.NewPCG(seed, 1))
	normal := func(std float64, shape ...int) gradtest.Value {
		size := 1
		for _, s := range shape {
			size *= s
		}
		v := gradtest.Value{Shape: shape, Data: make([]float64, size)}
		for i := range v.Data {
			v.Data[i] = rng.NormFloat64() * std
		}
		return v
	}
	in := gradtest.Inputs{"z": normal(1, rows, dim), "code": normal(1, rows, dim), "g": normal(1, rows, dim)}
	for j := range dim {
		in["code"].Data[j] = in["z"].Data[j] + 3*float64(j+1)/dim
		in["code"].Data[dim+j] = in["z"].Data[dim+j] + 0.05*float64(j-1)
	}
	var metric Metric
	prefix := "state/metric"
	if c.Learned {
		prefix = "radius"
	}
	if c.Kind == Mahalanobis && c.Metric != "full" {
		v := normal(0.3, dim)
		for i := range v.Data {
			v.Data[i] += 1
		}
		in[prefix+"/diagonal"] = v
		metric.Diagonal = v.Data
	}
	if c.Kind == Mahalanobis && c.Metric != "diagonal" {
		width := c.Rank
		if c.Metric == "full" {
			width = dim
		}
		v := normal(0.7, dim, width)
		if c.Metric == "full" { // lower triangle
			for i := range dim {
				for j := i + 1; j < dim; j++ {
					v.Data[i*dim+j] = 0
				}
			}
		}
		in[prefix+"/factor"] = v
		metric.Factor = columns(v)
	}
	if c.Kind == Adaptive {
		n := 1
		shape := []int{dim}
		if c.PerCode {
			n, shape = codes, []int{codes, dim}
		}
		v := normal(0.3, n*dim)
		for i := range v.Data {
			v.Data[i] = 1 + v.Data[i]*v.Data[i]
		}
		in["state/precision"] = gradtest.Value{Shape: shape, Data: v.Data}
	}
	return in, metric
}

func columns(v gradtest.Value) [][]float64 {
	d, m := v.Shape[0], v.Shape[1]
	out := make([][]float64, m)
	for j := range out {
		out[j] = make([]float64, d)
		for i := range d {
			out[j][i] = v.Data[i*m+j]
		}
	}
	return out
}

// rowMetric is the metric of one row, per-code precision included.
func rowMetric(c Config, in gradtest.Inputs, metric Metric, row int) Metric {
	if c.Kind != Adaptive {
		return metric
	}
	offset := 0
	if c.PerCode {
		offset = (row % codes) * dim
	}
	diagonal := make([]float64, dim)
	for i := range diagonal {
		diagonal[i] = math.Sqrt(in["state/precision"].Data[offset+i])
	}
	return Metric{Diagonal: diagonal}
}

func surrogateInputs(c Config, in map[string]*graph.Node) Inputs {
	index := make([]int32, rows)
	for i := range index {
		index[i] = int32(i % codes)
	}
	return Inputs{Vars: weights.FromNodes(in), Index: graph.Const(in["z"].Graph(), index)}
}

// graphLoss is ⟨g, z_q⟩, so that g is the gradient arriving at the surrogate.
func graphLoss(c Config) gradtest.Function {
	return func(in map[string]*graph.Node) *graph.Node {
		zq := c.Connect(surrogateInputs(c, in), in["z"], in["code"])
		return graph.ReduceAllSum(graph.Mul(graph.StopGradient(in["g"]), zq))
	}
}

// hostLoss is the same loss from the paper's definition in float64, with the
// stop-gradient factor frozen at the base point: what finite differences see.
func hostLoss(c Config, base gradtest.Inputs, baseMetric Metric) func(gradtest.Inputs) float64 {
	frozen := make([][]float64, rows)
	for i := range rows {
		z, code := row(base["z"], i), row(base["code"], i)
		d := difference(code, z)
		scale := gap(code, z)
		if c.Mode == Ratio {
			scale = c.Value(code, z, c.Scalar.Value, rowMetric(c, base, baseMetric, i))
		}
		frozen[i] = make([]float64, dim)
		for j := range d {
			frozen[i][j] = d[j] / scale
		}
	}
	return func(in gradtest.Inputs) float64 {
		metric := baseMetric
		for _, prefix := range []string{"radius", "state/metric"} {
			if v, ok := in[prefix+"/diagonal"]; ok {
				metric.Diagonal = v.Data
			}
			if v, ok := in[prefix+"/factor"]; ok {
				metric.Factor = columns(v)
			}
		}
		loss := 0.0
		for i := range rows {
			z, code := row(in["z"], i), row(in["code"], i)
			r := c.Value(code, z, c.Scalar.Value, rowMetric(c, in, metric, i))
			for j := range dim {
				loss += base["g"].Data[i*dim+j] * (z[j] + r*frozen[i][j])
			}
		}
		return loss
	}
}

func row(v gradtest.Value, i int) []float64 {
	return append([]float64(nil), v.Data[i*dim:(i+1)*dim]...)
}

// Autodiff of the graph code equals finite differences of the float64
// definition, for every family and mode, in latents, codes and learned metrics.
func TestGradientsMatchFiniteDifferences(t *testing.T) {
	for _, c := range cases() {
		for _, c.Mode = range Modes {
			t.Run(c.label(), func(t *testing.T) {
				in, metric := point(c, 7)
				loss := hostLoss(c, in, metric)
				wrt := []string{"z", "code"}
				if c.Learned {
					for _, name := range []string{"radius/diagonal", "radius/factor"} {
						if _, ok := in[name]; ok {
							wrt = append(wrt, name)
						}
					}
				}
				exact := gradtest.Autodiff[float64](t, in, graphLoss(c))
				single := gradtest.Autodiff[float32](t, in, graphLoss(c))
				for _, name := range wrt {
					want := gradtest.FiniteDifference(in, name, loss)
					if name == "radius/factor" && c.Metric == "full" {
						for i := range dim { // above the diagonal nothing is learned
							for j := i + 1; j < dim; j++ {
								want[i*dim+j] = 0
							}
						}
					}
					gradtest.Close(t, name+" f64", exact[name], want, 1e-6)
					gradtest.Close(t, name+" f32", single[name], want, 1e-3)
				}
			})
		}
	}
}

// For radial families the gradients are g - k a s and k a s with k of the
// design's table, and they sum to g.
func TestRadialClosedForm(t *testing.T) {
	for _, c := range cases() {
		if !c.Radial() {
			continue
		}
		for _, c.Mode = range Modes {
			t.Run(c.label(), func(t *testing.T) {
				in, _ := point(c, 11)
				got := gradtest.Autodiff[float64](t, in, graphLoss(c))
				wantZ := make([]float64, rows*dim)
				wantCode := make([]float64, rows*dim)
				sum := make([]float64, rows*dim)
				for i := range rows {
					z, code, g := row(in["z"], i), row(in["code"], i), row(in["g"], i)
					delta, a := gap(code, z), 0.0
					for j := range dim {
						a += g[j] * (code[j] - z[j]) / delta
					}
					k := tableK(c, delta)
					for j := range dim {
						pull := k * a * (code[j] - z[j]) / delta
						wantZ[i*dim+j], wantCode[i*dim+j] = g[j]-pull, pull
					}
				}
				for i := range sum {
					sum[i] = got["z"][i] + got["code"][i]
				}
				gradtest.Close(t, "z", got["z"], wantZ, 1e-10)
				gradtest.Close(t, "code", got["code"], wantCode, 1e-10)
				gradtest.Close(t, "sum", sum, in["g"].Data, 1e-12)
			})
		}
	}
}

// tableK is the table of gradient factors, typed in from its formulas.
func tableK(c Config, delta float64) float64 {
	theta := c.Scalar.Value
	ratio := c.Mode == Ratio
	x := delta / theta
	switch c.Kind {
	case Euclidean:
		return 1
	case Clipped:
		if delta < theta {
			return 1
		}
		return 0
	case Power:
		if ratio {
			return theta
		}
		return theta * math.Pow(delta, theta-1)
	case Huber:
		switch {
		case ratio && delta <= theta:
			return 2
		case ratio:
			return delta / (delta - theta/2)
		case delta <= theta:
			return x
		}
		return 1
	case PseudoHuber:
		if ratio {
			return 1 + 1/math.Sqrt(1+x*x)
		}
		k := x / math.Sqrt(1+x*x)
		if c.PaperScale {
			k = delta / math.Sqrt(1+x*x)
		}
		return k
	case SoftClip:
		if ratio {
			return 2 * x / math.Sinh(2*x)
		}
		return 1 / (math.Cosh(x) * math.Cosh(x))
	case Temperature:
		if ratio {
			return x / ((1 + x) * math.Log(1+x))
		}
		return 1 / (1 + x)
	}
	panic("no table entry for " + c.Kind)
}

func TestGradientsOfLatentAndCodeSumToTheUpstreamGradient(t *testing.T) {
	for _, c := range cases() { // holds for the families that are not radial too
		for _, c.Mode = range Modes {
			in, _ := point(c, 3)
			got := gradtest.Autodiff[float64](t, in, graphLoss(c))
			sum := make([]float64, rows*dim)
			for i := range sum {
				sum[i] = got["z"][i] + got["code"][i]
			}
			gradtest.Close(t, c.label(), sum, in["g"].Data, 1e-12)
		}
	}
}

func TestForwardIsTheHardCodeExactly(t *testing.T) {
	for _, c := range cases() {
		for _, c.Mode = range Modes {
			in, metric := point(c, 5)
			out := gradtest.Eval[float32](t, in, func(n map[string]*graph.Node) []*graph.Node {
				return []*graph.Node{c.Connect(surrogateInputs(c, n), n["z"], n["code"]), n["code"]}
			})
			for i, got := range out[0] {
				want := out[1][i]
				if c.Mode != UnitSoft {
					if got != want {
						t.Fatalf("%s: element %d is %v, the code is %v", c.label(), i, got, want)
					}
					continue
				}
				z, code := row(in["z"], i/dim), row(in["code"], i/dim)
				r := c.Value(code, z, c.Scalar.Value, rowMetric(c, in, metric, i/dim))
				soft := z[i%dim] + r*(code[i%dim]-z[i%dim])/gap(code, z)
				if math.Abs(got-soft) > 1e-5*(1+math.Abs(soft)) {
					t.Fatalf("%s: element %d is %v, want z + r s = %v", c.label(), i, got, soft)
				}
			}
		}
	}
}

func TestZeroGapIsPlainStraightThrough(t *testing.T) {
	for _, c := range cases() {
		for _, c.Mode = range Modes {
			in, _ := point(c, 9)
			in["code"] = gradtest.Value{Shape: in["z"].Shape, Data: append([]float64(nil), in["z"].Data...)}
			got := gradtest.Autodiff[float32](t, in, graphLoss(c))
			gradtest.Close(t, c.label()+" z", got["z"], in["g"].Data, 1e-7)
			for i, x := range got["code"] {
				if x != 0 {
					t.Fatalf("%s: code gradient %d is %v at zero gap, want 0", c.label(), i, x)
				}
			}
		}
	}
}
