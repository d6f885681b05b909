package radius

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/internal/gradtest"
)

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
		if c.family().radial == nil {
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
