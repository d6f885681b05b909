package optim

import (
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// plain is a parameter under an optimizer written as in its paper, in float64.
type plain struct{ value, first, second []float64 }

func (p *plain) step(o Optimizer, g []float64, rate, decay float64, t int) {
	for i := range p.value {
		gradient := g[i]
		if o.Name != "adamw" {
			gradient += decay * p.value[i]
		}
		switch o.Name {
		case "adam", "adamw":
			p.first[i] = o.Beta1*p.first[i] + (1-o.Beta1)*gradient
			p.second[i] = o.Beta2*p.second[i] + (1-o.Beta2)*gradient*gradient
			m := p.first[i] / (1 - math.Pow(o.Beta1, float64(t)))
			v := p.second[i] / (1 - math.Pow(o.Beta2, float64(t)))
			change := rate * m / (math.Sqrt(v) + o.Epsilon)
			if o.Name == "adamw" {
				change += rate * decay * p.value[i]
			}
			p.value[i] -= change
		case "adagrad":
			p.second[i] += gradient * gradient
			p.value[i] -= rate * gradient / (math.Sqrt(p.second[i]) + o.Epsilon)
		case "sgd":
			p.first[i] = o.Momentum*p.first[i] + gradient
			p.value[i] -= rate * p.first[i]
		}
	}
}

// The engine's optimizers equal the textbook over several steps: every rule,
// every group with its own rate and decay, clipping to a global norm, and a
// skipped step in between that counts for nothing.
func TestOptimizersMatchTheTextbook(t *testing.T) {
	paths := []string{
		"encoder/w", "quantizer/level0/codes", "quantizer/level0/mixer/a", "quantizer/level0/feature/w", "quantizer/radius/scalar",
	}
	for _, o := range []Optimizer{
		{Name: "adam", WeightDecay: 0.02}, {Name: "adamw", WeightDecay: 0.2},
		{Name: "adagrad", Accumulator: 0.1}, {Name: "adagrad", Accumulator: 0.3, WeightDecay: 0.02},
		{Name: "sgd", Momentum: 0.9}, {Name: "sgd", WeightDecay: 0.1},
	} {
		for _, clip := range []float64{0, 0.7} {
			o.Beta1, o.Beta2, o.Epsilon = 0.8, 0.95, 1e-8
			t.Run(fmt.Sprintf("%s momentum %g clip %g", o.Name, o.Momentum, clip), func(t *testing.T) {
				matchTextbook(t, o, clip, paths)
			})
		}
	}
}

// The rates of the groups, and the decay of the mixer.
var rates = map[weights.Group]float64{
	weights.Network: 0.05, weights.Codes: 0.15, weights.Mixer: 0.025, weights.Feature: 0.1, weights.Radius: 0.005,
}

const mixerDecay = 0.05

// paceOf reads a pace from its values: keep, scale, both corrections, the rates.
func paceOf(x *graph.Node) Pace {
	at := func(i int) *graph.Node { return graph.Reshape(graph.Slice(x, graph.AxisRange(i, i+1))) }
	p := Pace{Keep: at(0), Scale: at(1), Correction1: at(2), Correction2: at(3), Rate: map[weights.Group]*graph.Node{}}
	for i, g := range weights.Groups {
		p.Rate[g] = at(4 + i)
	}
	p.Decay = map[weights.Group]float64{weights.Mixer: mixerDecay}
	return p
}

func matchTextbook(t *testing.T, o Optimizer, clip float64, paths []string) {
	const size = 4
	rng := weights.Rand(3, o.Name)
	set, want := weights.Set{}, map[string]*plain{}
	for _, p := range paths {
		set[p] = weights.Normal(rng, 1, size)
		ref := &plain{make([]float64, size), make([]float64, size), make([]float64, size)}
		for i, x := range set[p].Data {
			ref.value[i] = float64(x)
			if o.Name == "adagrad" {
				ref.second[i] = o.Accumulator
			}
		}
		want[p] = ref
	}
	store := model.NewStore()
	if err := weights.Install(store, weights.Set{}.Merge("", set).Merge("", o.Init(set))); err != nil {
		t.Fatal(err)
	}
	exec := model.MustNewExec(gradtest.Engine(t), store, func(_ *model.Scope, in []*graph.Node) *graph.Node {
		v := weights.FromStore(store, in[0].Graph())
		next := map[string]*graph.Node{}
		for i, path := range paths {
			gradient := graph.Reshape(graph.Slice(in[1], graph.AxisElem(i)), size)
			for name, value := range o.Update(v, path, gradient, paceOf(in[0])) {
				next[name] = value
			}
		}
		weights.Assign(store, next)
		return in[0]
	})
	for step := range 6 {
		gradients := weights.Normal(rng, 1, len(paths), size)
		keep, scale, norm := float32(1), 1.0, 0.0
		for _, g := range gradients.Data {
			norm += float64(g) * float64(g)
		}
		if clip > 0 {
			scale = math.Min(1, clip/math.Sqrt(norm))
		}
		if step == 2 {
			keep = 0
		}
		taken := float64(step + 1)
		pace := []float32{keep, float32(scale), float32(1 - math.Pow(o.Beta1, taken)), float32(1 - math.Pow(o.Beta2, taken))}
		for _, g := range weights.Groups {
			pace = append(pace, float32(rates[g]))
		}
		_, err := exec.Call(tensors.FromFlatDataAndDimensions(pace, len(pace)),
			tensors.FromFlatDataAndDimensions(gradients.Data, len(paths), size))
		if err != nil {
			t.Fatal(err)
		}
		if keep == 0 {
			continue
		}
		for i, p := range paths {
			group := weights.GroupOf(p)
			decay := map[weights.Group]float64{weights.Network: o.WeightDecay, weights.Mixer: mixerDecay}[group]
			g := make([]float64, size)
			for j := range g {
				g[j] = float64(gradients.Row(i)[j]) * scale
			}
			want[p].step(o, g, rates[group], decay, step+1)
		}
	}
	got, err := weights.Read(store, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		for i, w := range want[p].value {
			if x := float64(got[p].Data[i]); math.Abs(x-w) > 2e-6*math.Max(1, math.Abs(w)) {
				t.Errorf("%s[%d] is %v, want %v", p, i, x, w)
			}
		}
	}
}

// Every rule is registered under its own name, and state starts as its slots say.
func TestRules(t *testing.T) {
	if got := fmt.Sprint(Names()); got != "[adam adamw adagrad sgd]" {
		t.Errorf("rules %s", got)
	}
	o := Optimizer{Name: "adagrad", Accumulator: 0.25}
	if set := o.Init(weights.Set{"w": weights.New(2)}); len(set) != 1 || set[secondMoment+"w"].Data[1] != 0.25 {
		t.Errorf("state %v", set)
	}
}
