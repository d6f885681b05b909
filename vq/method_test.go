package vq

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/weights"
)

// register adds a method for the length of a test.
func register(t *testing.T, m Method) {
	t.Helper()
	Register(m)
	t.Cleanup(func() {
		delete(methods, m.Name)
		names = names[:len(names)-1]
	})
}

// halves codes every residual by the sign of its first number: +-1 in each.
type halves struct{ dim int }

func (h halves) Start(Latents, *rand.Rand) (weights.Set, *weights.Array, error) {
	codes := weights.Full(1, 2, h.dim)
	for j := range codes.Row(0) {
		codes.Row(0)[j] = -1
	}
	return weights.Set{"state/table": codes}, codes, nil
}

func (halves) Usable(ctx *Context) *graph.Node { return ctx.Vars.Get("state/table") }

func (h halves) Assign(ctx *Context, residual *graph.Node) Assigned {
	first := graph.Reshape(graph.Slice(residual, graph.AxisRange(), graph.AxisRange(0, 1)), -1)
	index := graph.ConvertDType(graph.GreaterThan(first, graph.ZerosLike(first)), dtypes.Int32)
	hard := Take(h.Usable(ctx), index)
	return Assigned{Index: index, Hard: hard, Loss: ctx.MeanSquare(graph.Sub(residual, graph.StopGradient(hard)))}
}

func (halves) Vocab() int { return 2 }

// A registered level is stacked in levels and parts as built-in ones are.
func TestRegisteredLevelIsStacked(t *testing.T) {
	register(t, Method{Name: "halves", Summary: "signs", Chooses: true, Level: func(_ Config, dim int) Level { return halves{dim} }})
	if !slices.Contains(MethodNames(), "halves") || !slices.Contains(Config{}.Enums()["method"], "halves") ||
		Summaries()["halves"] != "signs" || Title("halves") != "halves" {
		t.Error("the method is registered but not listed")
	}
	c := small(t, "halves", 2)
	c.Codes, c.Parts, c.Resets.Every = 2, 2, 0
	f := newFixture(t, c, 4, 5)
	if got := f.q.Layout(); !slices.Equal(got.Vocab, []int{2, 2, 2, 2}) {
		t.Errorf("the vocabulary is %v", got.Vocab)
	}
	out := f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
		out := f.q.Build(ctx, z)
		return []*graph.Node{out.Hard, Lookup(f.q, ctx, out.Index), graph.ConvertDType(out.Index, z.DType())}
	})
	sameBits(t, "looked up codes", out[1], out[0])
	for i := range 5 {
		if first := f.z.Data[i*4] > 0; (out[2][i*4] == 1) != first {
			t.Errorf("row %d: the first number is %g, the code %g", i, f.z.Data[i*4], out[2][i*4])
		}
	}
	if _, err := Place(f.q, f.set, 0, []int{0}, make([]float32, 2)); err == nil {
		t.Error("codes of a level without places were moved")
	}
	if Searchable(f.q) {
		t.Error("codes that the graph chooses are searched for outside")
	}
}

// bare has the methods that a quantizer must have, and no others.
type bare struct{ Quantizer }

// Functions over optional interfaces do the sensible thing where they are absent.
func TestOptionalInterfaces(t *testing.T) {
	register(t, Method{Name: "bare", Summary: "four methods", New: func(c Config, dim int) (Quantizer, error) {
		c.Method = "ste"
		q, err := New(c, dim)
		return bare{q}, err
	}})
	c := small(t, "bare", 1)
	q, err := New(c, 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := q.(bare); !ok {
		t.Fatalf("the quantizer is a %T", q)
	}
	set := weights.Set{"level0/codes": weights.New(6, 3)}
	if _, err := Place(q, set, 0, []int{0}, make([]float32, 3)); err == nil {
		t.Error("codes were moved")
	}
	if err := Rewire(q, set); err != nil || Searchable(q) || Frozen(q, weights.Codes) {
		t.Errorf("rewired with %v, searchable %v, frozen %v", err, Searchable(q), Frozen(q, weights.Codes))
	}
	if got := Refresh(q, &Context{}); len(got) != 0 {
		t.Errorf("%d values are refreshed", len(got))
	}
	Project(q, &Context{}, nil)
	if z := new(graph.Node); Prepare(q, z) != z {
		t.Error("latents were changed")
	}
	c.Average.Pull = 1
	mentions(t, c.Validate(3), "quantizer.average.pull")
}

func TestRegisterRefuses(t *testing.T) {
	for name, m := range map[string]Method{"no name": {Summary: "x"}, "no summary": {Name: "x"}, "taken": {Name: "grit", Summary: "x"}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: registered", name)
				}
			}()
			Register(m)
		}()
	}
}

// Every method has the texts of tables and lists, and presets that validate.
func TestMethodsAreComplete(t *testing.T) {
	for _, name := range MethodNames() {
		m, err := MethodNamed(name)
		if err != nil || m.Title == "" || m.Summary == "" {
			t.Errorf("%s: title %q, summary %q (%v)", name, m.Title, m.Summary, err)
		}
		for preset, adjust := range map[string]Preset{"pictures": m.Pictures, "paper": m.Paper} {
			c, rates := m.Settings()
			adjust(&c, &rates)
			if err := c.Validate(32); err != nil {
				t.Errorf("%s: %s: %v", name, preset, err)
			}
			published := Resets{Until: c.Resets.Until}
			if name == "nsvq" || name == "diveq" { // replace codes that less than 1 % of the last hundred batches chose
				published = Resets{Every: 100, Rule: RuleBatches, Threshold: 0.01, Until: 1, Donor: "used"}
			}
			if preset == "paper" && c.Resets.Every != published.Every {
				t.Errorf("%s: codes are reset as they were not when it was published", name)
			}
			if preset == "paper" && c.Radius.PaperScale != (name == "grit") {
				t.Errorf("%s: the radius does not have the published scale h^2", name)
			}
			published.Window = c.Resets.Window
			if preset == "paper" && c.Resets.Every > 0 && c.Resets != published {
				t.Errorf("%s: resets %+v, published %+v", name, c.Resets, published)
			}
		}
	}
	if _, rates := SimVQ.Settings(); rates.Of(weights.Feature) != 10 || rates.Of(weights.Codes) != 1 || rates.Of(weights.Network) != 1 {
		t.Errorf("rates of simvq: %+v", rates)
	}
}
