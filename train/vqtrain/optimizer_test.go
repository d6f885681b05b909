package vqtrain

import (
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/weights"
)

// plain is a parameter under an optimizer written as in its paper, in float64.
type plain struct{ value, first, second []float64 }

func (p *plain) step(o optim.Optimizer, g []float64, rate, decay float64, t int) {
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
	paths := []string{"encoder/w", "quantizer/level0/codes", "quantizer/level0/mixer/a", "quantizer/level0/feature/w", "quantizer/radius/scalar"}
	rates := Rates{Codes: 3, Mixer: 0.5, Feature: 2, Radius: 0.1}
	for _, o := range []optim.Optimizer{
		{Name: "adam", WeightDecay: 0.02, MixerDecay: 0.05}, {Name: "adamw", WeightDecay: 0.2, MixerDecay: 0.5},
		{Name: "adagrad", Accumulator: 0.1}, {Name: "adagrad", Accumulator: 0.3, WeightDecay: 0.02}, {Name: "sgd", Momentum: 0.9}, {Name: "sgd", WeightDecay: 0.1},
	} {
		for _, clip := range []float64{0, 0.7} {
			o.Beta1, o.Beta2, o.Epsilon = 0.8, 0.95, 1e-8
			t.Run(fmt.Sprintf("%s momentum %g clip %g", o.Name, o.Momentum, clip), func(t *testing.T) {
				matchTextbook(t, o, rates, clip, paths)
			})
		}
	}
}

func matchTextbook(t *testing.T, o optim.Optimizer, rates Rates, clip float64, paths []string) {
	const size, base = 4, 0.05
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
		p, _ := readPace(in[0])
		p.Keep, p.Scale = graph.Reshape(graph.Slice(in[1], graph.AxisRange(0, 1))), graph.Reshape(graph.Slice(in[1], graph.AxisRange(1, 2)))
		next := map[string]*graph.Node{}
		for i, path := range paths {
			gradient := graph.Reshape(graph.Slice(in[2], graph.AxisElem(i)), size)
			for name, value := range o.Update(v, path, gradient, p.Pace) {
				next[name] = value
			}
		}
		weights.Assign(store, next)
		return in[0]
	})
	trainer := &Trainer{config: Config{Train: Train{Steps: 10, Optimizer: o, Rates: rates, ClipNorm: clip, Schedule: optim.Schedule{Kind: "constant"}}}}
	trainer.config.Train.Optimizer.Rate = base
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
		_, err := exec.Call(trainer.pace(step+1, true), tensors.FromFlatDataAndDimensions([]float32{keep, float32(scale)}, 2),
			tensors.FromFlatDataAndDimensions(gradients.Data, len(paths), size))
		if err != nil {
			t.Fatal(err)
		}
		if keep == 0 {
			continue
		}
		for i, p := range paths {
			group := weights.GroupOf(p)
			decay := map[weights.Group]float64{weights.Network: o.WeightDecay, weights.Mixer: o.MixerDecay}[group]
			rate := base * map[weights.Group]float64{
				weights.Network: 1, weights.Codes: rates.Codes, weights.Mixer: rates.Mixer, weights.Feature: rates.Feature, weights.Radius: rates.Radius,
			}[group]
			g := make([]float64, size)
			for j := range g {
				g[j] = float64(gradients.Row(i)[j]) * scale
			}
			want[p].step(o, g, rate, decay, step+1)
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

// Late in training the bias corrections are 1 to float32 precision, early ones
// must not lose digits to it.
func TestBiasCorrectionKeepsItsDigits(t *testing.T) {
	trainer := &Trainer{config: Config{Train: Train{Steps: 10, Optimizer: optim.Optimizer{Beta1: 0.9, Beta2: 0.999, Rate: 1}}}}
	for updates, want := range map[int][2]float64{1: {0.1, 0.001}, 2: {0.19, 0.001999}, 100000: {1, 1}} {
		values, err := tensors.CopyFlatData[float32](trainer.pace(updates, true))
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range want {
			if math.Abs(float64(values[i])/w-1) > 1e-6 {
				t.Errorf("correction %d after %d updates is %v, want %v", i+1, updates, values[i], w)
			}
		}
	}
}

func TestSchedules(t *testing.T) {
	near := func(kind string, warmup int, floor float64, step, steps int, want float64) {
		t.Helper()
		if got := (optim.Schedule{Kind: kind, Warmup: warmup, Floor: floor}).At(step, steps); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s, warm-up %d: step %d of %d has share %v, want %v", kind, warmup, step, steps, got, want)
		}
	}
	for _, kind := range []string{"constant", "cosine", "inverse-sqrt"} {
		near(kind, 10, 0, 0, 100, 0.1)
		near(kind, 10, 0, 9, 100, 1)
	}
	near("constant", 0, 0, 99, 100, 1)
	near("cosine", 0, 0, 0, 100, 1)
	near("cosine", 0, 0, 50, 100, 0.5)
	near("cosine", 0, 0, 100, 100, 0)
	near("cosine", 20, 0, 60, 100, 0.5)
	near("cosine", 0, 0.2, 50, 100, 0.6)
	near("cosine", 0, 0.2, 500, 100, 0.2)
	near("inverse-sqrt", 0, 0, 24, 100, 0.2)
	near("inverse-sqrt", 16, 0, 63, 100, 0.5)
}
