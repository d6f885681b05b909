package radius

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
)

func TestValidateNamesTheField(t *testing.T) {
	for field, edit := range map[string]func(*Config){
		"radius.kind":       func(c *Config) { c.Kind = "round" },
		"radius.mode":       func(c *Config) { c.Mode = "soft" },
		"radius.scalar":     func(c *Config) { c.Scalar.Value = 0 },
		"radius.scalar.use": func(c *Config) { c.Scalar.Use = Learned }, // euclidean has none
		"radius.max_k":      func(c *Config) { c.MaxK = 0 },
		"radius.metric":     func(c *Config) { c.Kind, c.Metric = Mahalanobis, "round" },
		"radius.rank":       func(c *Config) { c.Kind, c.Metric, c.Rank = Mahalanobis, "low-rank", 0 },
		"radius.decay":      func(c *Config) { c.Kind, c.Decay = Adaptive, 0 },
	} {
		c := Default()
		edit(&c)
		if err := c.Validate(); err == nil || err.Error()[:len(field)] != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
	for _, c := range cases() {
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", c.label(), err)
		}
	}
}

// A learned scalar receives Σ⟨g,D⟩ d ln r/dθ in ratio mode and Σ⟨g,s⟩ dr/dθ in
// the unit modes, through its own squashing.
func TestLearnedScalarGradient(t *testing.T) {
	for _, c := range cases() {
		if !c.family().hasScalar || c.Kind == PNorm {
			continue
		}
		c.Scalar.Use = Learned
		if c.Kind == Power && c.Scalar.Value <= 0.5 {
			c.Scalar.Value = 0.8 // a learned power lives in (0.5, 1.5)
		}
		for _, c.Mode = range Modes {
			t.Run(c.label(), func(t *testing.T) {
				in, metric := point(c, 13)
				raw := float64(c.Init(dim, codes, 1)["radius/scalar"].Data[0])
				in["radius/scalar"] = gradtest.Value{Shape: []int{1}, Data: []float64{raw}}
				squash := func(raw float64) float64 {
					if c.Kind == Power {
						return 0.5 + 1/(1+math.Exp(-raw))
					}
					return math.Log1p(math.Exp(raw))
				}
				if got := squash(raw); math.Abs(got-c.Scalar.Value) > 1e-6 {
					t.Fatalf("starts at %v, want %v", got, c.Scalar.Value)
				}
				loss := func(in gradtest.Inputs) float64 {
					theta, total := squash(in["radius/scalar"].Data[0]), 0.0
					for i := range rows {
						z, code, g := row(in["z"], i), row(in["code"], i), row(in["g"], i)
						r := c.Value(code, z, theta, metric)
						for j := range dim {
							if c.Mode == Ratio {
								total += g[j] * (code[j] - z[j]) * math.Log(r)
							} else {
								total += g[j] * (code[j] - z[j]) / gap(code, z) * r
							}
						}
					}
					return total
				}
				want := gradtest.FiniteDifference(in, "radius/scalar", loss)
				got := gradtest.Autodiff[float64](t, in, graphLoss(c))
				gradtest.Close(t, "scalar", got["radius/scalar"], want, 1e-6)
			})
		}
	}
}

func TestCapBoundsTheCorrection(t *testing.T) {
	for _, c := range cases() {
		c.MaxK = 0.25
		for _, c.Mode = range Modes {
			in, _ := point(c, 17)
			got := gradtest.Autodiff[float64](t, in, graphLoss(c))
			for i := range rows {
				var pull, g float64
				for j := range dim {
					pull += got["code"][i*dim+j] * got["code"][i*dim+j]
					g += in["g"].Data[i*dim+j] * in["g"].Data[i*dim+j]
				}
				if math.Sqrt(pull) > 0.25*math.Sqrt(g)*(1+1e-9) {
					t.Fatalf("%s row %d: correction %.4g above a quarter of the gradient %.4g", c.label(), i, math.Sqrt(pull), math.Sqrt(g))
				}
			}
		}
	}
}

func TestAdaptivePrecisionFollowsTheErrors(t *testing.T) {
	c := Default()
	c.Kind, c.Decay = Adaptive, 0.25
	in, _ := point(c, 19)
	got := gradtest.Eval[float64](t, in, func(n map[string]*graph.Node) []*graph.Node {
		updates := c.Updates(surrogateInputs(c, n), n["z"], n["code"])
		return []*graph.Node{updates["state/precision"]}
	})[0]
	for j := range dim {
		mean := 0.0
		for i := range rows {
			d := in["code"].Data[i*dim+j] - in["z"].Data[i*dim+j]
			mean += d * d / rows
		}
		want := 0.75*in["state/precision"].Data[j] + 0.25/(mean+adaptiveFloor)
		if math.Abs(got[j]-want) > 1e-9 {
			t.Errorf("dimension %d: %v, want %v", j, got[j], want)
		}
	}
	c.PerCode = true
	in, _ = point(c, 19)
	got = gradtest.Eval[float64](t, in, func(n map[string]*graph.Node) []*graph.Node {
		return []*graph.Node{c.Updates(surrogateInputs(c, n), n["z"], n["code"])["state/precision"]}
	})[0]
	mean := 0.0 // code 1 owns rows 1 and 4
	for _, i := range []int{1, 4} {
		d := in["code"].Data[i*dim] - in["z"].Data[i*dim]
		mean += d * d / 2
	}
	if want := 0.75*in["state/precision"].Data[dim] + 0.25/(mean+adaptiveFloor); math.Abs(got[dim]-want) > 1e-9 {
		t.Errorf("code 1: %v, want %v", got[dim], want)
	}
}

func TestScheduleIsGeometric(t *testing.T) {
	c := Default()
	c.Kind, c.Mode, c.Scalar = Temperature, UnitHard, Setting{Value: 4, End: 1, Use: Scheduled}
	in, _ := point(c, 23)
	for progress, theta := range map[float64]float64{0: 4, 0.5: 2, 1: 1} {
		in["progress"] = gradtest.Value{Shape: nil, Data: []float64{progress}}
		k := gradtest.Eval[float64](t, in, func(n map[string]*graph.Node) []*graph.Node {
			inputs := surrogateInputs(c, n)
			inputs.Progress = n["progress"]
			return []*graph.Node{graph.ReduceAllMean(c.K(inputs, n["z"], n["code"]))}
		})[0][0]
		fixed, want := c, 0.0
		fixed.Scalar.Value = theta
		for i := range rows {
			want += tableK(fixed, gap(row(in["code"], i), row(in["z"], i))) / rows
		}
		if math.Abs(k-want) > 1e-9 {
			t.Errorf("mean k at %v: %v, want %v", progress, k, want)
		}
	}
}
