package vq

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/internal/phase"
	"github.com/gritvq/gritvq/weights"
)

// contextual is a small configuration with phases on a grid of the given side.
func contextual(t testing.TB, method string, phases, side, levels int) Config {
	t.Helper()
	c := small(t, method, levels)
	c.Side, c.Transform.Context, c.Transform.ContextWidth = side, phases, 3
	return c
}

// gridFixture is a fixture of whole grids; the network is moved far enough to matter.
func gridFixture(t testing.TB, c Config, dim, grids int) fixture {
	t.Helper()
	q, err := New(c, dim)
	if err != nil {
		t.Fatal(err)
	}
	rng, cells := newRand(7), c.Side*c.Side
	sample := weights.Normal(rng, 1, 20*cells, dim)
	set, err := q.Init(Latents{Rows: sample.Data, N: 20 * cells, Dim: dim}, rng)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range set.Paths() {
		if weights.GroupOf(p) == weights.State {
			continue
		}
		move := 0.1
		if strings.Contains(p, "/last/") {
			move = 0.7
		}
		for i := range set[p].Data {
			set[p].Data[i] += float32(move * rng.NormFloat64())
		}
	}
	return fixture{q: q, set: set, z: random(rng, grids*cells, dim)}
}

// contexts visits every method that can be conditioned, with 2 and 4 phases on grids of even and odd sides.
func contexts(t *testing.T, visit func(t *testing.T, c Config, dim int)) {
	for _, method := range []string{"grit", "ste", "ema", "simvq", "diveq", "nsvq", "rotation", "kmeans-ste"} {
		for _, phases := range []int{2, 4} {
			for _, shape := range [][3]int{{4, 1, 1}, {3, 2, 1}, {3, 2, 2}} { // side, levels, parts
				t.Run(fmt.Sprintf("%s,phases=%d,shape=%v", method, phases, shape), func(t *testing.T) {
					c := contextual(t, method, phases, shape[0], shape[1])
					c.Parts = shape[2]
					visit(t, c, 3*c.Parts)
				})
			}
		}
	}
}

// With the network as it starts and equal codes in all phases, codes and vectors are
// those without phases to the bit; without a network, too.
func TestPhasesWithEqualCodesChangeNothing(t *testing.T) {
	for _, width := range []int{0, 3} {
		contexts(t, func(t *testing.T, c Config, dim int) {
			c.Transform.ContextWidth = width
			plain := c
			plain.Transform.Context = 0
			alone := newFixture(t, plain, dim, 2*c.Side*c.Side)
			q, err := New(c, dim)
			if err != nil {
				t.Fatal(err)
			}
			in := alone.inputs()
			for p, a := range q.(*Phased).StartContext(newRand(3)) {
				in[p] = widen(a)
			}
			for p := range q.Layout().Phases {
				for path, a := range alone.set {
					in[phasePath(p)+"/"+path] = widen(a)
				}
			}
			got := gradtest.Eval[float32](t, in, func(in map[string]*graph.Node) []*graph.Node {
				var all []*graph.Node
				for _, q := range []Quantizer{alone.q, q} {
					out := q.Build(&Context{Vars: weights.FromNodes(in)}, in["z"])
					all = append(all, out.Index, out.Hard, out.Soft, Lookup(q, &Context{Vars: weights.FromNodes(in)}, out.Index))
				}
				return all
			})
			for i, what := range []string{"codes", "vectors", "the decoder's input", "looked-up vectors"} {
				sameBits(t, what, got[4+i], got[i])
			}
		})
	}
}

// In every phase and at every level the code is the nearest of shift + scale*c to the
// latent, by brute force and by the search on the host; codes look up to the vectors.
func TestContextSearchIsExact(t *testing.T) {
	contexts(t, func(t *testing.T, c Config, dim int) {
		const grids = 3
		f := gridFixture(t, c, dim, grids)
		q, layout := f.q.(*Phased), f.q.Layout()
		cells := phase.Cells(layout.Phases, c.Side, c.Side)
		got := gradtest.Eval[float32](t, f.inputs(), func(in map[string]*graph.Node) []*graph.Node {
			ctx := &Context{Vars: weights.FromNodes(in)}
			out := q.Build(ctx, in["z"])
			o := q.orderOf(ctx, in["z"])
			results := []*graph.Node{out.Index, out.Hard, Lookup(q, ctx, out.Index)}
			var sent []*graph.Node
			for p := range layout.Phases {
				sent = append(sent, o.of(p, out.Hard))
			}
			for p := 1; p < layout.Phases; p++ {
				shift, scale := q.condition(ctx, o, p, sent)
				results = append(results, shift, scale)
			}
			return append(results, q.Codebooks(ctx)...)
		})
		index, hard := got[0], got[1]
		sameBits(t, "looked-up vectors", got[2], hard)
		books := got[3+2*(layout.Phases-1):]
		var arrays []*weights.Array
		for slot, book := range books {
			a := weights.New(layout.SlotVocabOf(0)[slot], dim/c.Parts)
			for i, x := range book {
				a.Data[i] = float32(x)
			}
			arrays = append(arrays, a)
		}
		searches, err := q.Searches(f.set, arrays)
		if err != nil {
			t.Fatal(err)
		}
		for p, own := range cells {
			var rows []int
			for g := range grids {
				for _, cell := range own {
					rows = append(rows, g*c.Side*c.Side+cell)
				}
			}
			x, shift, scale := make([]float32, 0), []float32(nil), []float32(nil)
			for i, row := range rows {
				for j := range dim {
					x = append(x, float32(f.z.Data[row*dim+j]))
					if p > 0 {
						shift = append(shift, float32(got[1+2*p][i*dim+j]))
						scale = append(scale, float32(got[2+2*p][i*dim+j]))
					}
				}
			}
			codes := make([]uint32, len(rows)*layout.Positions())
			searches[p].EncodeAround(x, shift, scale, len(rows), 0, 1, codes, 1)
			vectors := make([]float32, len(x))
			if err := searches[p].DecodeAround(codes, shift, scale, len(rows), 0, vectors); err != nil {
				t.Fatal(err)
			}
			for i, row := range rows {
				for position := range layout.Positions() {
					if got, want := codes[i*layout.Positions()+position], index[row*layout.Positions()+position]; float64(got) != want {
						t.Fatalf("phase %d, row %d, position %d: the host finds code %d, the graph %v", p, row, position, got, want)
					}
				}
				gradtest.Close(t, "vectors on the host", widen(&weights.Array{Data: vectors[i*dim : (i+1)*dim]}).Data, hard[row*dim:(row+1)*dim], 1e-5)
				bruteForce(t, layout, p, row, i, x[i*dim:], shift, scale, books, index, dim)
			}
		}
	})
}

// bruteForce checks the codes of a row against all sums, level by level, in float64.
func bruteForce(t *testing.T, layout Layout, p, row, i int, x, shift, scale []float32, books [][]float64, index []float64, dim int) {
	t.Helper()
	at := func(a []float32, j int, none float64) float64 {
		if a == nil {
			return none
		}
		return float64(a[i*dim+j])
	}
	for part := range layout.Parts {
		start, end := layout.Bounds(part)
		rest := make([]float64, end-start)
		for j := range rest {
			rest[j] = float64(x[start+j]) - at(shift, start+j, 0)
		}
		for l := range layout.Levels {
			position := part*layout.Levels + l
			book := matrix{slices.Clone(books[p*layout.Positions()+position]), end - start}
			for k := range book.rows() {
				for j := range rest {
					book.row(k)[j] *= at(scale, start+j, 1)
				}
			}
			chosen := int(index[row*layout.Positions()+position])
			if want := nearest(rest, book); chosen != want && distance(rest, book.row(chosen)) > distance(rest, book.row(want))*(1+1e-5) {
				t.Fatalf("phase %d, row %d, position %d: code %d, the nearest is %d", p, row, position, chosen, want)
			}
			for j, v := range book.row(chosen) {
				rest[j] -= v
			}
		}
	}
}

// Latents and all that is trained have finite gradients that are not zero, the network
// included; averaged codes have updates.
func TestContextIsTrained(t *testing.T) {
	contexts(t, func(t *testing.T, c Config, dim int) {
		f := gridFixture(t, c, dim, 4)
		in := f.inputs()
		names := in.Names()
		in["weight"] = random(newRand(4), f.z.Shape...)
		updates := 0
		got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			out := f.q.Build(noisyStep(nodes, 3), nodes["z"])
			updates = len(out.Updates)
			total := graph.Add(graph.ReduceAllSum(graph.Mul(out.Soft, nodes["weight"])), out.Loss)
			if len(out.Residuals) != f.q.Layout().Slots() {
				t.Errorf("%d inputs for %d slots", len(out.Residuals), f.q.Layout().Slots())
			}
			return graph.Gradient(total, nodesOf(nodes, names)...)
		})
		for i, name := range names {
			group := weights.GroupOf(name)
			if name != "z" && (group == weights.State || Frozen(f.q, group)) {
				continue
			}
			if size := dot(got[i], got[i]); !(size > 0) || math.IsInf(size, 0) {
				t.Errorf("the gradient of %s has squared size %g", name, size)
			}
		}
		if want := 3 * f.q.Layout().Slots(); c.Learn == "ema" && updates != want { // counts, sums, codes
			t.Errorf("%d updates, want %d", updates, want)
		}
	})
}

// Averages and reset targets are innovations (z-mu)/s.
func TestContextAveragesInnovations(t *testing.T) {
	c := contextual(t, "ema", 2, 2, 1)
	f := gridFixture(t, c, 3, 5)
	q := f.q.(*Phased)
	got := gradtest.Eval[float64](t, f.inputs(), func(in map[string]*graph.Node) []*graph.Node {
		ctx := training(in)
		out := q.Build(ctx, in["z"])
		o := q.orderOf(ctx, in["z"])
		shift, scale := q.condition(ctx, o, 1, []*graph.Node{o.of(0, out.Hard)})
		sums := graph.Sub(out.Updates["phase1/level0/state/sums"], graph.MulScalar(in["phase1/level0/state/sums"], c.Average.Decay))
		return []*graph.Node{out.Residuals[1], o.of(1, in["z"]), shift, scale, sums, o.of(1, out.Index)}
	})
	innovations := make([]float64, len(got[0]))
	sums := make([]float64, c.Codes*3)
	for i := range innovations {
		innovations[i] = (got[1][i] - got[2][i]) / got[3][i]
		sums[int(got[5][i/3])*3+i%3] += (1 - c.Average.Decay) * innovations[i]
	}
	gradtest.Close(t, "reset targets", got[0], innovations, 1e-9)
	gradtest.Close(t, "sums of innovations", got[4], sums, 1e-9)
}

func TestContextPlacesCodesBySlot(t *testing.T) {
	c := contextual(t, "grit", 4, 2, 2)
	f := gridFixture(t, c, 3, 1)
	layout := f.q.Layout()
	touched, err := Place(f.q, f.set, 5, []int{2}, []float32{1, 2, 3})
	if err != nil || len(touched) == 0 || !strings.HasPrefix(touched[0].Path, "phase2/level1/") || layout.Path(5) != "phase2/level1" {
		t.Errorf("touched %v, path %s, %v", touched, layout.Path(5), err)
	}
	if layout.Slots() != 8 || layout.Positions() != 2 || len(layout.Books()) != 8 || layout.PhaseOf(4+3) != 1 {
		t.Errorf("layout %+v", layout)
	}
}

func TestContextRefusals(t *testing.T) {
	for _, method := range MethodNames() {
		c := small(t, method, 1)
		c.Side, c.Transform.Context = 4, 2
		if method == "simvq" {
			c.Start.From = "data"
		}
		m := methods[method]
		if err := c.Validate(8); (m.Tabled() || m.Scales) && !c.Transform.Conditional() {
			if err != nil {
				t.Errorf("%s: %v", method, err)
			}
		} else {
			oneSentence(t, err, method)
		}
		c.Side = 0
		if err := c.Validate(8); err == nil {
			t.Errorf("%s: vectors have a context", method)
		} else if m.Tabled() {
			oneSentence(t, err, method)
			mentions(t, err, "pictures")
		}
	}
	c := contextual(t, "ste", 3, 4, 1)
	mentions(t, c.Validate(8), "transform.context", "2 or 4")
	c = contextual(t, "ste", 2, 4, 1)
	c.Distance = Cosine
	mentions(t, c.Validate(8), "transform.context", "euclidean")
	c = contextual(t, "ste", 2, 4, 2)
	c.Transform.Levels = "affine"
	mentions(t, c.Validate(3), "transform.levels", "context")
	q, _ := New(contextual(t, "ste", 2, 3, 1), 3)
	_, err := q.Init(gaussianSample(1, 10, 3), newRand(1))
	mentions(t, err, "10 latents", "3 x 3")
	_, err = StartFrom(q, nil)
	mentions(t, err, "no codebook to import")
}
