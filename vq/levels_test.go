package vq

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"
)

// dependent is a small configuration of codes that depend on earlier levels.
func dependent(t testing.TB, method, levels string, blocks int) Config {
	c := small(t, method, 3)
	c.Transform.Levels, c.Transform.Hidden, c.Transform.Blocks = levels, 4, blocks
	return c
}

// dependents are the conditions of the suite: method, transform.levels, blocks.
var dependents = []struct {
	method, levels string
	blocks         int
}{
	{"ste", transform.LevelsAffine, 1}, {"ste", transform.LevelsImplicit, 1}, {"ste", transform.LevelsImplicit, 2},
	{"grit", transform.LevelsAffine, 1}, {"grit", transform.LevelsImplicit, 1}, {"qinco", transform.LevelsImplicit, 2},
}

// At the start conditions have no effect: codes and vectors are those of the plain
// stack, to the bit, in the graph and on the host with any beam.
func TestLevelsStartAsThePlainStack(t *testing.T) {
	const n, dim = 60, 5
	for _, kind := range dependents {
		for _, parts := range []int{1, 2} {
			name := fmt.Sprint(kind, parts)
			c := dependent(t, kind.method, kind.levels, kind.blocks)
			c.Codes, c.Parts, c.Transform.Candidates = 24, parts, 10
			q, err := New(c, dim)
			if err != nil {
				t.Fatal(err)
			}
			set, err := q.Init(gaussianSample(3, 200, dim), newRand(5))
			if err != nil {
				t.Fatal(err)
			}
			plainConfig := c
			plainConfig.Transform.Levels = transform.LevelsNone
			if kind.method == "qinco" {
				plainConfig.Method = "ste"
			}
			plain, err := New(plainConfig, dim)
			if err != nil {
				t.Fatal(err)
			}
			f := fixture{q: q, set: set, z: random(newRand(6), n, dim)}
			got := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
				ours, theirs := q.Build(ctx, z), plain.Build(ctx, z)
				results := []*graph.Node{ours.Index, theirs.Index, ours.Hard, theirs.Hard, Lookup(q, ctx, ours.Index)}
				return append(results, q.Codebooks(ctx)...)
			})
			sameBits(t, name+" codes", got[0], got[1])
			sameBits(t, name+" vectors", got[2], got[3])
			sameBits(t, name+" lookup", got[4], got[2])
			books := booksOf(q, got[5:])
			ours, err := NewSearch(q, set, books)
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := NewSearch(plain, set, books)
			if err != nil {
				t.Fatal(err)
			}
			for _, beam := range []int{1, 6, 20} {
				var codes [2][]uint32
				for i, s := range []Search{ours, theirs} {
					codes[i] = make([]uint32, n*q.Layout().Positions())
					s.Encode(narrow(f.z.Data), n, 0, beam, codes[i], 0)
				}
				if !slices.Equal(codes[0], codes[1]) {
					t.Errorf("%s: beam %d finds other codes than in the plain stack", name, beam)
				}
			}
		}
	}
}

func booksOf(q Quantizer, values [][]float64) []*weights.Array {
	var books []*weights.Array
	for position, k := range q.Layout().Vocab {
		books = append(books, &weights.Array{Shape: []int{k, len(values[position]) / k}, Data: narrow(values[position])})
	}
	return books
}

// dependentVector is c'(x̂) in plain loops.
func dependentVector(in gradtest.Inputs, c Config, level string, code, sent []float64) []float64 {
	get := func(name string) []float64 { return in[level+"/condition/"+name].Data }
	product := func(x, w []float64) []float64 {
		out := make([]float64, len(w)/len(x))
		for j, v := range x {
			for o := range out {
				out[o] += v * w[j*len(out)+o]
			}
		}
		return out
	}
	plus := func(lists ...[]float64) []float64 {
		sum := make([]float64, len(lists[0]))
		for _, list := range lists {
			for i, v := range list {
				sum[i] += v
			}
		}
		return sum
	}
	relu := func(x []float64) []float64 {
		for i, v := range x {
			x[i] = max(v, 0)
		}
		return x
	}
	if c.Transform.Levels == transform.LevelsAffine {
		terms := product(relu(plus(product(sent, get("q")), get("bias"))), get("u"))
		v := make([]float64, len(code))
		for j, x := range code {
			u := terms[len(code)+j] / (4 * (1 + math.Abs(terms[len(code)+j])))
			v[j] = terms[j] + (1+u)/(1-u)*x
		}
		return v
	}
	v := code
	if c.Method == "qinco" {
		v = plus(v, product(v, get("concat/codes")), product(sent, get("concat/sent")), get("concat/bias"))
	}
	for i := range c.Transform.Blocks {
		block := fmt.Sprintf("block%d/", i)
		inner := product(v, get(block+"p"))
		if c.Method != "qinco" {
			inner = plus(inner, product(sent, get(block+"q")), get(block+"bias"))
		}
		v = plus(v, product(relu(inner), get(block+"u")))
	}
	return v
}

// Codes are the nearest ones, and the loss of every level and its gradients in codes,
// networks and shortlist equal the formulas: |z - x̂_l|² relative to the residual that
// level l had to code, with gradients through x̂ to earlier levels, and the shortlist's.
func TestLevelsFollowTheirFormulas(t *testing.T) {
	const n, d = 12, 3
	for _, kind := range dependents {
		if kind.method == "grit" { // its surrogate is checked by itself
			continue
		}
		c := dependent(t, kind.method, kind.levels, kind.blocks)
		c.Loss.Codebook, c.Loss.Commitment, c.Loss.Level = 0, 0, 0.3
		f := newFixture(t, c, d, n)
		in := f.inputs()
		names := in.Names()
		got := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			out := f.q.Build(training(nodes), nodes["z"])
			results := append([]*graph.Node{out.Index, out.Hard, out.Loss}, graph.Gradient(out.Loss, nodesOf(nodes, names)...)...)
			return append(results, out.Residuals...)
		})
		residuals := got[3+len(names):]
		energies := make([]float64, c.Levels)
		for l, r := range residuals {
			energies[l] = dot(r, r) / (n * d)
		}
		latents := slices.Clone(f.z.Data)
		loss := func(in gradtest.Inputs) float64 {
			total := 0.0
			for i := range n {
				sent := make([]float64, d)
				for l := range c.Levels {
					level := levelPath(l)
					at, book := int(got[0][i*c.Levels+l]), matrix{in[level+"/codes"].Data, d}
					vector := book.row(at)
					if l > 0 {
						vector = dependentVector(in, c, level, vector, sent)
					}
					if s, ok := in[level+"/condition/shortlist"]; ok {
						rest := residuals[l][i*d : (i+1)*d]
						total += 0.1 * squaredDistance(matrix{s.Data, d}.row(at), rest) / (n * d) / energies[l]
					}
					for j, v := range vector {
						sent[j] += v
					}
					weight := c.Loss.Level
					if l == c.Levels-1 {
						weight = 1
					}
					total += weight * squaredDistance(sent, latents[i*d:(i+1)*d]) / (n * d) / energies[l]
				}
			}
			return total
		}
		name := fmt.Sprint(kind)
		gradtest.Close(t, name+" loss", got[2], []float64{loss(in)}, 1e-9)
		for i, input := range names {
			if input == "z" {
				gradtest.Close(t, name+" gradient of z", got[3+i], make([]float64, n*d), 0)
				continue
			}
			gradtest.Close(t, name+" gradient of "+input, got[3+i], gradtest.FiniteDifference(in, input, loss), 1e-5)
		}
		for i := range n {
			rest, sent := slices.Clone(latents[i*d:(i+1)*d]), make([]float64, d)
			for l := range c.Levels {
				book := matrix{in[levelPath(l)+"/codes"].Data, d}
				list := matrix{nil, d}
				for k := range book.rows() {
					vector := book.row(k)
					if l > 0 {
						vector = dependentVector(in, c, levelPath(l), vector, sent)
					}
					list.data = append(list.data, vector...)
				}
				want := nearest(rest, list)
				if at := int(got[0][i*c.Levels+l]); at != want {
					t.Fatalf("%s: row %d level %d: code %d, the nearest is %d", name, i, l, at, want)
				}
				for j, v := range list.row(want) {
					rest[j], sent[j] = rest[j]-v, sent[j]+v
				}
			}
			gradtest.Close(t, name+" vector", got[1][i*d:(i+1)*d], sent, 1e-9)
		}
	}
}

func squaredDistance(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return sum
}

// Without loss.level a plain stack has no loss of its levels; conditional codes have one
// of weight 0.1 before the last.
func TestLevelWeights(t *testing.T) {
	for _, test := range []struct {
		levels string
		level  float64
		want   []float64
	}{
		{transform.LevelsNone, 0, []float64{0, 0, 0}}, {transform.LevelsNone, 0.5, []float64{0.5, 0.5, 1}},
		{transform.LevelsAffine, 0, []float64{0.1, 0.1, 1}}, {transform.LevelsImplicit, 2, []float64{2, 2, 1}},
	} {
		c := dependent(t, "ste", test.levels, 1)
		c.Loss.Level = test.level
		for l, want := range test.want {
			if got := c.levelWeight(l); got != want {
				t.Errorf("%s, loss.level %g: weight %g of level %d, want %g", test.levels, test.level, got, l, want)
			}
		}
	}
}

// A few candidates of a shortlist give the best of them; the shortlist decides which.
func TestShortlistProposes(t *testing.T) {
	const n, d, count = 30, 4, 3
	c := dependent(t, "ste", transform.LevelsImplicit, 1)
	c.Codes, c.Levels, c.Transform.Candidates = 20, 2, count
	f := newFixture(t, c, d, n)
	in := f.inputs()
	got := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
		out := f.q.Build(training(nodes), nodes["z"])
		return []*graph.Node{out.Index, out.Residuals[1]}
	})
	short, book := matrix{in["level1/condition/shortlist"].Data, d}, matrix{in["level1/codes"].Data, d}
	missed := 0
	for i := range n {
		rest := got[1][i*d : (i+1)*d]
		first := matrix{in["level0/codes"].Data, d}.row(int(got[0][2*i]))
		order := make([]int, c.Codes)
		for k := range order {
			order[k] = k
		}
		by := func(distance func(k int) float64) func(a, b int) int {
			return func(a, b int) int { return int(math.Copysign(1, distance(a)-distance(b))) }
		}
		exact := func(k int) float64 {
			return squaredDistance(rest, dependentVector(in, c, "level1", book.row(k), first))
		}
		all := slices.MinFunc(order, by(exact))
		slices.SortFunc(order, by(func(k int) float64 { return squaredDistance(rest, short.row(k)) }))
		want := slices.MinFunc(order[:count], by(exact))
		if at := int(got[0][2*i+1]); at != want {
			t.Errorf("row %d: code %d, the best of the shortlist is %d", i, at, want)
		}
		if all != want {
			missed++
		}
	}
	if missed == 0 {
		t.Error("the best of all codes is always on the shortlist: the test shows nothing")
	}
}

// A reset moves the usable code and the shortlist's row, and says so.
func TestResetsMoveTheShortlist(t *testing.T) {
	for _, method := range []string{"ste", "grit", "qinco"} {
		c := dependent(t, method, transform.LevelsImplicit, 1)
		f := newFixture(t, c, 3, 1)
		target := []float32{1, -2, 3}
		touched, err := Place(f.q, f.set, 1, []int{4}, target)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.set["level1/condition/shortlist"].Row(4); !slices.Equal(got, target) {
			t.Errorf("%s: the shortlist's row is %v", method, got)
		}
		if !slices.Contains(touched, Touched{Path: "level1/condition/shortlist", Row: 4}) {
			t.Errorf("%s: touched %v", method, touched)
		}
		got := f.eval32(t, func(ctx *Context, _ *graph.Node) []*graph.Node { return f.q.Codebooks(ctx)[1:2] })
		gradtest.Close(t, method+" placed code", got[0][12:15], []float64{1, -2, 3}, 1e-5)
	}
}

func TestLevelsRefuseWhatDoesNotFit(t *testing.T) {
	for field, change := range map[string]func(c *Config){
		"quantizer.transform.levels":     func(c *Config) { c.Transform.Levels = "cubic" },
		"quantizer.transform.hidden":     func(c *Config) { c.Transform.Hidden = 0 },
		"quantizer.transform.candidates": func(c *Config) { c.Transform.Candidates = 0 },
		"quantizer.shared":               func(c *Config) { c.Shared = true },
		"quantizer.loss.usage":           func(c *Config) { c.Loss.Usage = 1 },
		"quantizer.loss":                 func(c *Config) { c.Loss.Level = -1 },
		"quantizer.cache.gradient":       func(c *Config) { c.Cache = Cache{Period: 4, Gradient: "accumulate"} },
	} {
		c := dependent(t, "grit", transform.LevelsImplicit, 1)
		change(&c)
		mentions(t, c.Validate(4), field)
	}
	one := dependent(t, "grit", transform.LevelsAffine, 1)
	one.Levels = 1
	mentions(t, one.Validate(4), "quantizer.transform.levels")
	for _, method := range []string{"fsq", "simvq", "gumbel", "rq", "lsh"} {
		c := small(t, method, 2)
		c.Codes, c.Transform.Levels = 8, transform.LevelsAffine
		if err := c.Validate(4); err == nil {
			t.Errorf("%s has codes that depend on earlier levels", method)
		}
	}
}

// A dropped level adds nothing to the loss.
func TestDroppedLevelsHaveNoLoss(t *testing.T) {
	c := dependent(t, "ste", transform.LevelsImplicit, 1)
	f := newFixture(t, c, 3, 12)
	short := c
	short.Levels = 2
	two, err := New(short, 3)
	if err != nil {
		t.Fatal(err)
	}
	got := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
		ctx.Active = graph.Const(z.Graph(), []float32{1, 1, 0})
		out := f.q.Build(ctx, z)
		ctx.Active = nil
		want := two.Build(ctx, z)
		last := two.(*Residual).levelLoss(ctx, 1, z, want.Residuals[1], want.Hard, nil)
		return []*graph.Node{out.Hard, want.Hard, out.Loss, graph.Sub(want.Loss, graph.MulScalar(last, 0.9))}
	})
	sameBits(t, "hard", got[0], got[1])
	gradtest.Close(t, "loss", got[2], got[3], 1e-6)
}
