package gpt

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

func sampler(t *testing.T, m *Model, set weights.Set, o SamplerOptions) *Sampler {
	t.Helper()
	s, err := NewSampler(gradtest.Engine(t), m, set, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func sample(t *testing.T, s *Sampler, rows []Row) []uint32 {
	t.Helper()
	codes, err := s.Sample(t.Context(), rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	return codes
}

func numbered(first, n int, start int32) []Row {
	rows := make([]Row, n)
	for i := range rows {
		rows[i] = Row{Number: first + i, Start: start}
	}
	return rows
}

// Place by place with caches, the model gives the logits of the full pass, also where
// the caches grow.
func TestCachedLogitsAreThoseOfTheFullPass(t *testing.T) {
	if !gradtest.Embedded() {
		t.Skip("other engines show no logits")
	}
	c := Config{Layers: 2, Width: 8, Heads: 2, FeedForward: 12, Precision: "f32"}
	m, err := New(c, Layout{Vocab: []int{5, 7}, Cells: 40, Classes: 2})
	if err != nil {
		t.Fatal(err)
	}
	set, tokens := m.Init(3), m.Layout.Tokens()
	s := sampler(t, m, set, DefaultSampling())
	starts, codes := make([]int32, s.rows), make([]uint32, s.rows*tokens)
	rng := weights.Rand(1, "codes")
	for i := range codes {
		codes[i] = uint32(rng.IntN(m.Layout.Vocab[i%2]))
	}
	for r := range starts {
		starts[r] = int32(r % 3)
	}
	want := logits(t, m, set, starts, codes)
	parts := s.segments()
	if len(parts) < 3 || parts[len(parts)-1].length != tokens {
		t.Fatalf("the segments are %v", parts)
	}
	var caches []*tensors.Tensor
	previous := make([]int32, s.rows)
	for _, part := range parts {
		caches = s.grow(caches, s.rows, part.length)
		for at := 2 * part.first; at < 2*part.end; at++ {
			level, cell := at%2, at/2
			out, err := s.call(s.programs[level], []*tensors.Tensor{tensors.FromScalar(int32(at)),
				tensors.FromFlatDataAndDimensions(previous, s.rows), tensors.FromFlatDataAndDimensions(starts, s.rows)}, caches)
			if err != nil {
				t.Fatal(err)
			}
			caches = out[1:]
			got, n := tensors.MustCopyFlatData[float32](out[0]), m.Layout.Vocab[level]
			for r := range s.rows {
				for k := range n {
					if full := want[level][(r*m.Layout.Cells+cell)*n+k]; math.Abs(float64(got[r*n+k]-full)) > 1e-5 {
						t.Fatalf("row %d, place %d: logit %d is %g with caches and %g without", r, at, k, got[r*n+k], full)
					}
				}
				previous[r] = int32(codes[r*tokens+at])
			}
		}
	}
}

// A row depends on its number, not on the rows drawn with it, nor on the engine's
// workers; another seed draws others.
func TestRowsDoNotDependOnTheirCompany(t *testing.T) {
	if !gradtest.Embedded() {
		t.Skip("other engines round differently for other sizes")
	}
	c := Config{Layers: 2, Width: 32, Heads: 4, Precision: "f32"}
	m, err := New(c, Layout{Vocab: []int{50}, Cells: 36, Classes: 3})
	if err != nil {
		t.Fatal(err)
	}
	set, tokens := m.Init(5), m.Layout.Tokens()
	for _, o := range []SamplerOptions{
		{Filter: Everything(), Guidance: 1, Seed: 4},
		{Filter: Filter{Temperature: 0.9, TopK: 20, TopP: 0.95}, Guidance: 2, Seed: 4},
	} {
		s := sampler(t, m, set, o)
		all := sample(t, s, numbered(0, 45, 1))
		for _, which := range [][2]int{{0, 1}, {44, 45}, {7, 30}, {31, 33}} {
			if got := sample(t, s, numbered(which[0], which[1]-which[0], 1)); !slices.Equal(got, all[which[0]*tokens:which[1]*tokens]) {
				t.Errorf("rows %v drawn alone differ from those drawn with others", which)
			}
		}
		for _, config := range []string{"parallelism=1", "parallelism=5"} {
			backend, err := engine.Open(engine.Embedded + ":" + config)
			if err != nil {
				t.Fatal(err)
			}
			o.Batch = 3
			other, err := NewSampler(backend, m, set, o)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(sample(t, other, numbered(0, 45, 1)), all) {
				t.Errorf("with %s other codes are drawn", config)
			}
			other.Close()
		}
		o.Seed++
		if slices.Equal(sample(t, sampler(t, m, set, o), numbered(0, 1, 1)), all[:tokens]) {
			t.Error("two seeds draw the same row")
		}
	}
}

// Rows of 3 codes have the joint distribution that follows from the full pass: their
// frequencies, also guided, filtered and with a given code, pass a chi-square test.
func TestRowsHaveTheModelsDistribution(t *testing.T) {
	c := Config{Layers: 1, Width: 8, Heads: 2, Precision: "f32"}
	m, err := New(c, Layout{Vocab: []int{3}, Cells: 3, Classes: 2})
	if err != nil {
		t.Fatal(err)
	}
	set := m.Init(9)
	const n, count = 27, 4000
	var rows []uint32
	for i := range uint32(n) {
		rows = append(rows, i/9, i/3%3, i%3)
	}
	of := func(start int32) []float32 { return logits(t, m, set, slices.Repeat([]int32{start}, n), rows)[0] }
	class, null := of(1), of(m.Layout.NoClass())
	for name, c := range map[string]struct {
		options SamplerOptions
		given   []int32
	}{
		"plain":    {options: SamplerOptions{Filter: Everything(), Guidance: 1}},
		"guided":   {options: SamplerOptions{Filter: Everything(), Guidance: 2.5}},
		"no class": {options: SamplerOptions{Filter: Everything(), Guidance: 0}},
		"filtered": {options: SamplerOptions{Filter: Filter{Temperature: 0.8, TopK: 2, TopP: 0.9}, Guidance: 1}},
		"given":    {options: SamplerOptions{Filter: Everything(), Guidance: 1}, given: []int32{-1, 2, -1}},
	} {
		probability := make([]float64, n)
		for i := range probability {
			probability[i] = 1
			for at := range 3 {
				own := make([]float32, 3)
				for k := range own {
					from := (i*3 + at) * 3
					own[k] = null[from+k] + float32(c.options.Guidance)*(class[from+k]-null[from+k])
				}
				code := rows[i*3+at]
				if c.given == nil || c.given[at] < 0 {
					probability[i] *= reference(c.options.Filter, own)[code]
				} else if uint32(c.given[at]) != code {
					probability[i] = 0
				}
			}
		}
		asked := numbered(0, count, 1)
		for i := range asked {
			asked[i].Given = c.given
		}
		got := sample(t, sampler(t, m, set, c.options), asked)
		counts := make([]float64, n)
		for i := range count {
			counts[got[3*i]*9+got[3*i+1]*3+got[3*i+2]]++
		}
		statistic, freedom := 0.0, -1.0
		for i, p := range probability {
			if p == 0 && counts[i] > 0 {
				t.Errorf("%s: the impossible row %d was drawn", name, i)
			}
			if p > 0 {
				statistic += (counts[i] - count*p) * (counts[i] - count*p) / (count * p)
				freedom++
			}
		}
		// Wilson and Hilferty's approximation of the quantile 0.9999.
		if limit := freedom * math.Pow(1-2/(9*freedom)+3.719*math.Sqrt(2/(9*freedom)), 3); statistic > limit {
			t.Errorf("%s: chi-square %g exceeds %g", name, statistic, limit)
		}
	}
}

// The loop of engines that compile, on a toy network whose caches count the places: it
// reads the code before, keeps given codes and hands caches on, in two segments.
func TestLoopOfTheEngine(t *testing.T) {
	l := Layout{Vocab: []int{4, 6}, Cells: 5}
	const rows = 2
	tables := [][]float64{make([]float64, 6*4), make([]float64, 4*6)}
	next := [][]int{{2, 0, 3, 1, 1, 2}, {5, 1, 4, 0}} // by level and the code before
	for level, codes := range next {
		for before, code := range codes {
			tables[level][before*l.Vocab[level]+code] = 1
		}
	}
	in := gradtest.Inputs{"0": {Shape: []int{6, 4}, Data: tables[0]}, "1": {Shape: []int{4, 6}, Data: tables[1]}}
	given, known := make([]int32, 10*rows), make([]int32, 10*rows)
	given[4*rows+1], known[4*rows+1], given[5*rows] = 3, 1, 5
	segment := func(first, end int, codes []int32, count float32) ([]float64, float64) {
		out := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			g := nodes["0"].Graph()
			constant := func(x []int32) *graph.Node { return graph.Reshape(graph.Const(g, x), 10, rows) }
			at := func(level int, position, previous *graph.Node, caches []*graph.Node) (*graph.Node, []*graph.Node) {
				table := nodes[string(rune('0'+level))]
				return graph.Gather(table, graph.ExpandAxes(previous, -1)), []*graph.Node{graph.Add(caches[0], graph.Const(g, float32(1)))}
			}
			drawn, caches := l.run(at, Filter{Temperature: 0, TopP: 1}, first, end, constant(codes), constant(given), constant(known),
				graph.ConvertDType(constant(given), dtypes.Float32), []*graph.Node{graph.Const(g, count)})
			return []*graph.Node{graph.ConvertDType(drawn, dtypes.Float32), caches[0]}
		})
		return out[0], out[1][0]
	}
	half, count := segment(0, 3, make([]int32, 10*rows), 0)
	state := make([]int32, len(half))
	for i, x := range half {
		state[i] = int32(x)
	}
	got, count := segment(3, 5, state, float32(count))
	if count != 10 {
		t.Errorf("the cache passed %g places, want 10", count)
	}
	for r := range rows {
		before := 0
		for at := range 10 {
			code := next[at%2][before]
			if i := at*rows + r; known[i] == 1 {
				code = int(given[i])
			}
			if int(got[at*rows+r]) != code {
				t.Fatalf("row %d, place %d: code %g, want %d", r, at, got[at*rows+r], code)
			}
			before = code
		}
	}
}

// On engines that compile, caches that grow draw the rows of one cache, but for rounding.
func TestSegmentsDrawTheSame(t *testing.T) {
	if gradtest.Embedded() {
		t.Skip("the embedded engine always has segments")
	}
	c := Config{Layers: 2, Width: 32, Heads: 4, Precision: "f32"}
	m, err := New(c, Layout{Vocab: []int{20, 30}, Cells: 64, Classes: 2})
	if err != nil {
		t.Fatal(err)
	}
	o := SamplerOptions{Filter: Filter{Temperature: 0.9, TopK: 15, TopP: 0.95}, Guidance: 2, Batch: 16}
	one := sample(t, sampler(t, m, m.Init(3), o), numbered(0, 16, 1))
	o.Total = worthSegments
	s := sampler(t, m, m.Init(3), o)
	if len(s.programs) != 4 {
		t.Fatalf("%d programs, want 4", len(s.programs))
	}
	same := 0
	for i, code := range sample(t, s, numbered(0, 16, 1)) {
		if code == one[i] {
			same++
		}
	}
	if same < len(one)*9/10 {
		t.Errorf("%d of %d codes are the same", same, len(one))
	}
}

func TestSamplerSaysWhatIsWrong(t *testing.T) {
	m := tiny(t, false)
	s := sampler(t, m, m.Init(1), DefaultSampling())
	for want, row := range map[string]Row{
		"of class 5; the prior has 4":       {Start: 5},
		"given 2 codes; the prior's rows":   {Given: []int32{1, 2}},
		"given code 7; level 1 has 7":       {Given: []int32{-1, 7, -1, -1, -1, -1}},
		"row 3 is of class -1; the prior h": {Number: 3, Start: -1},
	} {
		if _, err := s.Sample(t.Context(), []Row{row}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", row, err)
		}
	}
	for want, o := range map[string]SamplerOptions{
		"guidance of -1": {Filter: Everything(), Guidance: -1}, "batch of -2": {Filter: Everything(), Guidance: 1, Batch: -2},
		"top-p": {Guidance: 1},
	} {
		if _, err := NewSampler(gradtest.Engine(t), m, m.Init(1), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", o, err)
		}
	}
	if _, err := NewSampler(gradtest.Engine(t), m, tiny(t, true).Init(1), DefaultSampling()); err == nil {
		t.Error("variables of another model were accepted")
	}
}
