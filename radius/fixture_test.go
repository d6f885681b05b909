package radius

import (
	"fmt"
	"math"
	"math/rand/v2"

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
	index := make([][]int32, rows)
	for i := range index {
		index[i] = []int32{int32(i % codes)}
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
// stop-gradient factor frozen at the base point, as finite differences need it.
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
