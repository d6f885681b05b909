package vq

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"
)

// The conformance suite checks the contract of the Quantizer interface for every
// registered method, alone, residual and product. A new method is covered once
// it is in the table of methods; only deliberate exceptions are listed here.
var (
	// drawsCodes: training chooses codes at random (sf-diveq draws a point on the
	// segment between two codes and chooses the nearer end).
	drawsCodes = []string{"gumbel", "hypervq", "sf-diveq"}
	// noisySurrogate: training feeds the decoder noise around the code.
	noisySurrogate = []string{"nsvq", "diveq", "sf-diveq"}
)

// conforming visits every method in every composition, with latents of 3 and of
// 5 dimensions a part: lfq and fsq code 3 without a projection here.
// A composition that a method does not allow must say so in one sentence.
func conforming(t *testing.T, visit func(t *testing.T, c Config, dim int)) {
	for _, method := range MethodNames() {
		t.Run(method, func(t *testing.T) {
			allowed := 0
			for _, shape := range []struct {
				levels, parts    int
				distance, depend string
			}{
				{1, 1, Euclidean, ""}, {2, 1, Euclidean, ""}, {1, 2, Euclidean, ""}, {2, 2, Euclidean, ""},
				{1, 1, Cosine, ""}, {2, 1, Cosine, ""}, {1, 2, Cosine, ""}, {1, 1, Euclidean, transform.LevelsAffine},
				{2, 1, Euclidean, transform.LevelsAffine}, {2, 2, Euclidean, transform.LevelsAffine},
				{2, 1, Euclidean, transform.LevelsImplicit}, {2, 2, Euclidean, transform.LevelsImplicit},
			} {
				for _, width := range []int{3, 5} {
					c := chosenConfig(t, method, shape.levels)
					c.Codes, c.Parts, c.Distance = 8, shape.parts, shape.distance
					c.Transform.Levels, c.Transform.Hidden = cmp.Or(shape.depend, c.Transform.Levels), 4
					if method == "fsq" {
						c.Grid = []int{4, 3, 2} // even, odd, and not 8 codes
					}
					if err := c.Validate(width * c.Parts); err != nil {
						oneSentence(t, err, method)
						continue
					}
					allowed++
					name := fmt.Sprintf("levels=%d,parts=%d,dim=%d,%s,%s", c.Levels, c.Parts, width*c.Parts, c.Distance, c.Transform.Levels)
					t.Run(name, func(t *testing.T) {
						visit(t, c, width*c.Parts)
					})
				}
			}
			if allowed == 0 {
				t.Error("no composition is allowed")
			}
		})
	}
}

// oneSentence fails unless a refusal names the setting and the method and is a
// single sentence.
func oneSentence(t *testing.T, err error, method string) {
	t.Helper()
	mentions(t, err, "quantizer.", method)
	if text := err.Error(); strings.ContainsAny(text, "\n") || strings.HasSuffix(text, ".") || strings.Contains(text, ". ") {
		t.Errorf("not one sentence: %q", text)
	}
}

// Inference feeds the decoder the hard code, with any noise; looking codes up
// gives the hard output to the bit, in training too; codes are in range of the
// true vocabulary; if a quantizer says that codes can be searched for, each is
// the nearest one; a seed repeats results, and only methods that draw depend
// on it.
func TestConformanceOfForwardValues(t *testing.T) {
	conforming(t, func(t *testing.T, c Config, dim int) {
		const n = 40
		f := newFixture(t, c, dim, n)
		layout := f.q.Layout()
		positions := layout.Positions()
		run := func(seed int64) [][]float64 {
			return gradtest.Eval[float32](t, f.inputs(), func(in map[string]*graph.Node) []*graph.Node {
				ctx := noisyStep(in, seed)
				out := f.q.Build(ctx, in["z"])
				noisy := noisyStep(in, seed)
				noisy.Training = false
				fixed := f.q.Build(noisy, in["z"])
				plain := f.q.Build(&Context{Vars: ctx.Vars}, in["z"])
				for _, index := range []*graph.Node{out.Index, fixed.Index} {
					if index.DType() != dtypes.Int32 || !slices.Equal(index.Shape().Dimensions, []int{n, positions}) {
						t.Errorf("codes are %s, want int32 [%d,%d]", index.Shape(), n, positions)
					}
				}
				if len(fixed.Updates) != 0 {
					t.Errorf("inference updates %d variables", len(fixed.Updates))
				}
				results := []*graph.Node{out.Hard, Lookup(f.q, ctx, out.Index), out.Soft, out.Index,
					fixed.Hard, Lookup(f.q, noisy, fixed.Index), fixed.Soft, fixed.Index, plain.Hard, plain.Index}
				return append(results, f.q.Codebooks(ctx)...)
			})
		}
		got, again, other := run(1), run(1), run(2)
		for i := range got {
			sameBits(t, "the same seed", again[i], got[i])
		}
		sameBits(t, "lookup in training", got[1], got[0])
		for i, what := range map[int]string{5: "lookup", 6: "the decoder's input", 8: "inference without noise"} {
			sameBits(t, what, got[i], got[4])
		}
		sameBits(t, "codes without noise", got[9], got[7])
		sameBits(t, "inference under another seed", other[4], got[4])
		draws, noisy := slices.Contains(drawsCodes, c.Method), slices.Contains(noisySurrogate, c.Method)
		if !noisy {
			sameBits(t, "the decoder's input in training", got[2], got[0])
		}
		if !draws {
			sameBits(t, "codes in training", got[3], got[7])
		}
		if same := slices.Equal(got[2], other[2]); same == (draws || noisy) {
			t.Errorf("training under another seed is the same: %v", same)
		}
		for _, codes := range [][]float64{got[3], got[7]} {
			seen := map[float64]bool{}
			for i, code := range codes {
				if k := layout.Vocab[i%positions]; code < 0 || code >= float64(k) {
					t.Fatalf("code %v of %d", code, k)
				}
				seen[code] = true
			}
			if len(seen) < 4 {
				t.Errorf("%d latents use %d codes", n, len(seen))
			}
		}
		if Searchable(f.q) && !c.Transform.Conditional() {
			nearestEverywhere(t, f, got[7], got[10:])
		}
	})
}

// A search on the host finds the codes of the graph and decodes them to its vectors.
// Where the codes of the last level depend on earlier ones, no other code of that level
// gives a vector that is nearer.
func TestConformanceOfHostSearch(t *testing.T) {
	conforming(t, func(t *testing.T, c Config, dim int) {
		const n = 40
		f := newFixture(t, c, dim, n)
		if !Searchable(f.q) || c.Search == Local { // the host searches further than the graph
			return
		}
		layout := f.q.Layout()
		positions := layout.Positions()
		got := gradtest.Eval[float32](t, f.inputs(), func(in map[string]*graph.Node) []*graph.Node {
			ctx := &Context{Vars: weights.FromNodes(in)}
			out := f.q.Build(ctx, in["z"])
			results := append([]*graph.Node{Prepare(f.q, in["z"]), out.Index, out.Hard}, f.q.Codebooks(ctx)...)
			for k := range layout.Vocab[positions-1] {
				last := graph.MulScalar(graph.OnesLike(graph.Slice(out.Index, graph.AxisRange(), graph.AxisRange(0, 1))), float64(k))
				other := last
				if positions > 1 {
					other = graph.Concatenate([]*graph.Node{graph.Slice(out.Index, graph.AxisRange(), graph.AxisRange(0, positions-1)), last}, -1)
				}
				results = append(results, Lookup(f.q, ctx, other))
			}
			return results
		})
		var books []*weights.Array
		for position, k := range layout.Vocab {
			values := got[3+position]
			books = append(books, &weights.Array{Shape: []int{k, len(values) / k}, Data: narrow(values)})
		}
		search, err := NewSearch(f.q, f.set, books)
		if err != nil {
			t.Fatal(err)
		}
		codes, decoded := make([]uint32, n*positions), make([]float32, n*dim)
		search.Encode(narrow(got[0]), n, 0, 1, codes, 0)
		for i, code := range codes {
			if float64(code) != got[1][i] && gradtest.Embedded() {
				t.Fatalf("row %d position %d: code %d on the host, %v in the graph", i/positions, i%positions, code, got[1][i])
			}
		}
		if err := search.Decode(codes, n, 0, decoded); err != nil {
			t.Fatal(err)
		}
		for i, x := range decoded {
			if math.Abs(float64(x)-got[2][i]) > 1e-5*(1+math.Abs(got[2][i])) {
				t.Fatalf("row %d decodes to %g, in the graph to %g", i/dim, x, got[2][i])
			}
		}
		start, end := layout.Bounds(layout.Parts - 1)
		for i := range n {
			gap := func(vectors []float64) float64 {
				return distance(got[0][i*dim+start:i*dim+end], vectors[i*dim+start:i*dim+end])
			}
			for k, other := range got[3+positions:] {
				if !c.Shared && gap(other) < gap(got[2])*(1-1e-4) {
					t.Fatalf("row %d: code %d of the last level is nearer than %v", i, k, got[1][(i+1)*positions-1])
				}
			}
		}
	})
}

func narrow(values []float64) []float32 {
	out := make([]float32, len(values))
	for i, x := range values {
		out[i] = float32(x)
	}
	return out
}

// nearestEverywhere compares codes [n,positions] with a search of the usable
// codes of each position, level by level.
func nearestEverywhere(t *testing.T, f fixture, index []float64, books [][]float64) {
	t.Helper()
	layout := f.q.Layout()
	for i := range f.z.Shape[0] {
		for part := range layout.Parts {
			start, end := layout.Bounds(part)
			rest := slices.Clone(f.z.Data[i*layout.Dim+start : i*layout.Dim+end])
			for l := range layout.Levels {
				position := part*layout.Levels + l
				codes := matrix{books[position], end - start}
				want := nearest(rest, codes)
				at := int(index[i*layout.Positions()+position])
				if at != want && !nearTie(rest, codes, at, want) {
					t.Fatalf("row %d position %d: code %d, the nearest is %d", i, position, at, want)
				}
				for j, x := range codes.row(at) {
					rest[j] -= x
				}
			}
		}
	}
}

// nearTie says whether two codes are equally near to the precision of a GPU's
// products, which multiply in fewer bits; the embedded engine knows no ties.
func nearTie(z []float64, codes matrix, a, b int) bool {
	if gradtest.Embedded() {
		return false
	}
	var da, db, scale float64
	for j, x := range z {
		u, v := codes.row(a)[j], codes.row(b)[j]
		da, db, scale = da+(x-u)*(x-u), db+(x-v)*(x-v), scale+x*x+u*u+v*v
	}
	return math.Abs(da-db) < 1e-3*scale
}

// A row's codes do not depend on the batch: alone, among others and at another
// place it gets the same ones, and decodes to the same numbers.
func TestConformanceOfCodesUnderBatchSize(t *testing.T) {
	conforming(t, func(t *testing.T, c Config, dim int) {
		const n = 21
		f := newFixture(t, c, dim, n)
		positions := f.q.Layout().Positions()
		ranges := [][2]int{{0, 1}, {13, 14}, {n - 1, n}, {4, 11}, {2, n}} // of rows
		got := gradtest.Eval[float32](t, f.inputs(), func(in map[string]*graph.Node) []*graph.Node {
			ctx, z := &Context{Vars: weights.FromNodes(in)}, in["z"]
			whole, back := f.q.Build(ctx, z), f.q.Build(ctx, graph.Reverse(z, 0))
			results := []*graph.Node{whole.Index, whole.Hard, graph.Reverse(back.Index, 0), graph.Reverse(back.Hard, 0)}
			for _, rows := range ranges {
				out := f.q.Build(ctx, graph.Slice(z, graph.AxisRange(rows[0], rows[1])))
				results = append(results, out.Index, out.Hard)
			}
			return results
		})
		index, hard := got[0], got[1]
		sameVectors := sameBits
		if c.Transform.Conditional() { // networks of the embedded engine round differently for few rows
			sameVectors = func(t *testing.T, what string, got, want []float64) { gradtest.Close(t, what, got, want, 1e-6) }
		}
		sameBits(t, "codes in reverse order", got[2], index)
		sameVectors(t, "vectors in reverse order", got[3], hard)
		for i, rows := range ranges {
			sameBits(t, fmt.Sprintf("codes of rows %v", rows), got[4+2*i], index[rows[0]*positions:rows[1]*positions])
			sameVectors(t, fmt.Sprintf("vectors of rows %v", rows), got[5+2*i], hard[rows[0]*dim:rows[1]*dim])
		}
	})
}

// Equal samples and seeds start equal variables, which are finite, and the
// sample is left as it was.
func TestConformanceOfStarts(t *testing.T) {
	conforming(t, func(t *testing.T, c Config, dim int) {
		q, err := New(c, dim)
		if err != nil {
			t.Fatal(err)
		}
		sample := gaussianSample(6, 150, dim)
		before := slices.Clone(sample.Rows)
		var sets [2]weights.Set
		for i := range sets {
			if sets[i], err = q.Init(sample, newRand(9)); err != nil {
				t.Fatal(err)
			}
		}
		if err := sets[0].Check(sets[1]); err != nil {
			t.Fatal(err)
		}
		for _, p := range sets[0].Paths() {
			if !slices.Equal(sets[0][p].Data, sets[1][p].Data) { // NaN differs from itself
				t.Errorf("%s differs between two starts with one seed, or is not a number", p)
			}
		}
		if !slices.Equal(before, sample.Rows) {
			t.Error("the start changed its sample")
		}
		_, err = q.Init(gaussianSample(6, 150, dim+1), newRand(9))
		mentions(t, err, fmt.Sprint(dim), fmt.Sprint(dim+1))
	})
}

// Latents and everything that is trained receive a gradient, finite and not
// zero; averaged codes receive an update instead. What is fitted once has no
// loss and no update, and lets gradients pass straight through.
func TestConformanceOfGradients(t *testing.T) {
	conforming(t, func(t *testing.T, c Config, dim int) {
		f := newFixture(t, c, dim, 30)
		weight := random(newRand(4), 30, dim)
		in := f.inputs()
		names := in.Names()
		in["weight"] = weight
		var updated []string
		got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			ctx := noisyStep(nodes, 3)
			out := f.q.Build(ctx, nodes["z"])
			total := graph.Add(graph.ReduceAllSum(graph.Mul(out.Soft, nodes["weight"])), out.Loss)
			results := graph.Gradient(total, nodesOf(nodes, names)...)
			results = append(results, out.Loss)
			updated = sortedKeys(out.Updates)
			for _, path := range updated {
				results = append(results, graph.Sub(out.Updates[path], nodes[path]))
			}
			return results
		})
		trained, parameters := 0, 0 // latents included
		for i, name := range names {
			size := dot(got[i], got[i])
			if math.IsNaN(size) || math.IsInf(size, 0) {
				t.Errorf("the gradient of %s is not finite", name)
			}
			group := weights.GroupOf(name)
			if group != weights.State {
				parameters++
			}
			if name != "z" && (group == weights.State || Frozen(f.q, group)) {
				continue
			}
			trained++
			if size == 0 {
				t.Errorf("the gradient of %s is zero", name)
			}
		}
		for i, path := range updated {
			if change := dot(got[len(names)+1+i], got[len(names)+1+i]); !(change > 0) || math.IsInf(change, 0) {
				t.Errorf("the update of %s has squared size %g", path, change)
			}
		}
		if Classical(c.Method) {
			if trained != 1 || len(updated) != 0 || got[len(names)][0] != 0 {
				t.Errorf("%d trained variables, updates of %v, loss %v", trained-1, updated, got[len(names)])
			}
			gradtest.Close(t, "gradient of latents", got[slices.Index(names, "z")], weight.Data, 1e-6)
		} else if parameters > 1 && trained == 1 && len(updated) == 0 {
			t.Error("nothing is trained")
		}
	})
}

func nodesOf(nodes map[string]*graph.Node, names []string) []*graph.Node {
	list := make([]*graph.Node, len(names))
	for i, name := range names {
		list[i] = nodes[name]
	}
	return list
}

func sortedKeys(nodes map[string]*graph.Node) []string {
	keys := make([]string, 0, len(nodes))
	for key := range nodes {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
