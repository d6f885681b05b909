package gpt

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// reference is the distribution of codes after a filter, by its definition: probabilities,
// the codes in falling order, the k first, those before the mass of p and the one that
// crosses it.
func reference(f Filter, logits []float32) []float64 {
	n := len(logits)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(logits[b], logits[a]) })
	p := make([]float64, n)
	if f.Temperature == 0 {
		p[order[0]] = 1
		return p
	}
	kept := order
	if f.TopK > 0 && f.TopK < n {
		kept = order[:f.TopK]
	}
	normalize := func() {
		clear(p)
		total := 0.0
		for _, i := range kept {
			total += math.Exp(float64(logits[i]-logits[order[0]]) / f.Temperature)
		}
		for _, i := range kept {
			p[i] = math.Exp(float64(logits[i]-logits[order[0]])/f.Temperature) / total
		}
	}
	normalize()
	mass := 0.0
	for count, i := range kept {
		if mass += p[i]; mass >= f.TopP && f.TopP < 1 {
			kept = kept[:count+1]
			break
		}
	}
	normalize()
	return p
}

var filters = []Filter{
	Everything(), {Temperature: 0.5, TopP: 1}, {Temperature: 2, TopP: 1}, {Temperature: 0, TopP: 1}, {Temperature: 0, TopK: 3, TopP: 0.5},
	{Temperature: 1e-40, TopP: 0.9},
	{Temperature: 1, TopK: 1, TopP: 1}, {Temperature: 1, TopK: 5, TopP: 1}, {Temperature: 1, TopK: 1000, TopP: 1},
	{Temperature: 1, TopP: 0.9}, {Temperature: 1, TopP: 0.3}, {Temperature: 1, TopP: 1e-9},
	{Temperature: 0.7, TopK: 7, TopP: 0.8}, {Temperature: 1.5, TopK: 4, TopP: 0.6},
}

// rowsOfLogits are random rows, some with many equal values.
func rowsOfLogits(rng *rand.Rand, rows, codes int) []float32 {
	logits := make([]float32, rows*codes)
	for i := range logits {
		logits[i] = float32(3 * rng.NormFloat64())
		switch i / codes % 4 {
		case 1:
			logits[i] = float32(math.Round(float64(logits[i]) / 3)) // ties
		case 2:
			logits[i] = 2 // all equal
		case 3:
			logits[i] -= 1000
		}
	}
	return logits
}

// drawInGraph draws codes of rows of logits by the engine.
func drawInGraph(t *testing.T, f Filter, logits, uniform []float32) []float64 {
	t.Helper()
	rows := len(uniform)
	in := gradtest.Inputs{"logits": asValue(logits, rows, len(logits)/rows), "uniform": asValue(uniform, rows)}
	return gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		return []*graph.Node{graph.ConvertDType(f.draw(nodes["logits"], nodes["uniform"]), nodes["logits"].DType())}
	})[0]
}

func asValue(data []float32, shape ...int) gradtest.Value {
	v := gradtest.Value{Shape: shape}
	for _, x := range data {
		v.Data = append(v.Data, float64(x))
	}
	return v
}

// Host and graph draw the code at which the reference's running probability exceeds the
// uniform number, and never one that the filter leaves out.
func TestDrawsFollowTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const rows, codes, unclear = 64, 23, 1e-5
	logits, uniform := rowsOfLogits(rng, rows, codes), make([]float32, rows)
	for _, f := range filters {
		t.Run(fmt.Sprint(f), func(t *testing.T) {
			for i := range uniform {
				uniform[i] = rng.Float32()
			}
			uniform[0], uniform[1], uniform[2] = 0, 0, 1-1.0/(1<<24)
			inGraph := drawInGraph(t, f, logits, uniform)
			d := drawer{Filter: f}
			for r := range rows {
				own := logits[r*codes:][:codes]
				p := reference(f, own)
				for where, got := range map[string]int{"the host": d.draw(own, uniform[r]), "the graph": int(inGraph[r])} {
					before := 0.0
					for _, x := range p[:got] {
						before += x
					}
					if u := float64(uniform[r]); p[got] == 0 || u < before-unclear || u > before+p[got]+unclear {
						t.Errorf("row %d: %s draws code %d of probability %g, %g before it, by %g", r, where, got, p[got], before, u)
					}
				}
			}
		})
	}
}

// Draws with the package's random numbers have the reference's distribution: the
// statistic of a chi-square test stays below the value that one in 10,000 exceeds.
func TestDrawsAreDistributed(t *testing.T) {
	const count = 20000
	logits := []float32{0.3, -1, 2, 2, 0.5, -0.2, 1.1, -3, 0, 1.7}
	critical := map[int]float64{ // quantiles 0.9999 by degrees of freedom
		1: 15.14, 2: 18.42, 3: 21.11, 4: 23.51, 5: 25.74, 6: 27.86, 7: 29.88, 8: 31.83, 9: 33.72}
	for _, f := range filters {
		p := reference(f, logits)
		d := drawer{Filter: f}
		host, inGraph := make([]float64, len(p)), make([]float64, len(p))
		uniform := make([]float32, count)
		var rows []float32
		for i := range uniform {
			uniform[i] = Uniform(7, i/20, i%20)
			host[d.draw(logits, uniform[i])]++
			rows = append(rows, logits...)
		}
		for _, code := range drawInGraph(t, f, rows, uniform) {
			inGraph[int(code)]++
		}
		for where, counts := range map[string][]float64{"the host": host, "the graph": inGraph} {
			statistic, freedom := 0.0, -1
			for i, n := range counts {
				if p[i] == 0 {
					if n > 0 {
						t.Errorf("%v: %s draws code %d, which is left out, %g times", f, where, i, n)
					}
					continue
				}
				freedom++
				statistic += (n - count*p[i]) * (n - count*p[i]) / (count * p[i])
			}
			if freedom > 0 && statistic > critical[freedom] {
				t.Errorf("%v: %s draws %v of %v: chi-square %g with %d degrees of freedom", f, where, counts, p, statistic, freedom)
			}
		}
	}
}

// Running sums by blocks are those of the definition, for whole and for partial blocks.
func TestRunningSum(t *testing.T) {
	for _, places := range []int{1, 2, 3, 16, 23, 257, 1000} {
		in, want := make([]float32, 2*places), make([]float64, 2*places)
		for i := range in {
			in[i] = float32(i%7) / 8
			if want[i] = float64(in[i]); i%places > 0 {
				want[i] += want[i-1]
			}
		}
		got := gradtest.Eval[float32](t, gradtest.Inputs{"x": asValue(in, 2, places)}, func(nodes map[string]*graph.Node) []*graph.Node {
			return []*graph.Node{runningSum(nodes["x"])}
		})[0]
		if !slices.Equal(got, want) { // eighths are exact
			t.Errorf("%d places: %v, want %v", places, got, want)
		}
	}
}

// Random numbers are uniform, and neither seed, picture nor place repeats those of
// others.
func TestUniform(t *testing.T) {
	seen := map[float32]bool{}
	sum, square, n := 0.0, 0.0, 0.0
	for seed := range uint64(10) {
		for number := range 30 {
			for place := range 30 {
				u := Uniform(seed, number, place)
				if u < 0 || u >= 1 {
					t.Fatalf("%g is not in [0, 1)", u)
				}
				seen[u] = true
				sum, square, n = sum+float64(u), square+float64(u)*float64(u), n+1
			}
		}
	}
	// Standard errors are 0.003; about 2.4 of 9000 numbers of 24 bits coincide.
	if mean, second := sum/n, square/n; math.Abs(mean-0.5) > 0.012 || math.Abs(second-1.0/3) > 0.012 {
		t.Errorf("mean %g and mean square %g", mean, second)
	}
	if len(seen) < 8985 {
		t.Errorf("%d of 9000 numbers differ", len(seen))
	}
}

func TestFilterSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		filter Filter
		want   string
	}{
		{Filter{Temperature: -1, TopP: 1}, "temperature of -1"}, {Filter{Temperature: math.NaN(), TopP: 1}, "temperature of NaN"},
		{Filter{Temperature: 1, TopK: -2, TopP: 1}, "top-k of -2"}, {Filter{Temperature: 1}, "top-p of 0"},
		{Filter{Temperature: 1, TopP: 1.2}, "top-p of 1.2"},
	} {
		if err := c.filter.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.filter, err)
		}
	}
	if err := Everything().Validate(); err != nil {
		t.Error(err)
	}
}
