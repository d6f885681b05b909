package vqtrain

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/radius"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// Collecting gradients at the cache over a period and stepping once equals the
// mean of the direct steps the same parameters would take on each batch.
func TestAccumulatedStepIsTheMeanOfDirectSteps(t *testing.T) {
	const period = 3
	for _, kind := range []transform.Kind{transform.KindLinear, transform.KindLowRank, transform.KindAttention} {
		c := tiny(t, "grit")
		c.Quantizer.Transform.Kind = kind
		c.Quantizer.Loss = vq.Loss{Codebook: 0.5, Commitment: 0.1, Usage: 0.2, UsageThreshold: 0.9, UsageSoftness: 1}
		c.Train.Optimizer = Optimizer{Optimizer: optim.Optimizer{Name: "sgd", Rate: 0.1}}
		c.Train.Schedule, c.Train.ClipNorm = optim.Schedule{Kind: "constant"}, 0
		source := open(t, tinySet)
		mean := weights.Set{}
		for i := range period {
			direct := start(t, c, source, t.TempDir(), false, Observer{})
			if err := step(t, direct, i); err != nil {
				t.Fatal(err)
			}
			for p, a := range read(t, direct) {
				if mean[p] == nil {
					mean[p] = weights.New(a.Shape...)
				}
				for j, x := range a.Data {
					mean[p].Data[j] += x / period
				}
			}
		}
		c.Quantizer.Cache = vq.Cache{Period: period, Gradient: "accumulate"}
		collected := start(t, c, source, t.TempDir(), false, Observer{})
		var begun weights.Set
		for i := range period {
			if err := step(t, collected, i); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				begun = read(t, collected)
			}
		}
		for _, p := range collected.deferred {
			if firstDifference(read(t, collected)[p].Data, begun[p].Data) >= 0 {
				t.Errorf("%s: %s moved before the refresh", kind, p)
			}
		}
		if err := collected.refreshCache(true); err != nil {
			t.Fatal(err)
		}
		got, books := read(t, collected), usable(t, collected)
		for _, p := range collected.deferred {
			change, want := make([]float32, len(got[p].Data)), make([]float32, len(got[p].Data))
			for j := range change {
				change[j], want[j] = got[p].Data[j]-begun[p].Data[j], mean[p].Data[j]-begun[p].Data[j]
			}
			if e := relative(change, want); !(e < 1e-3) && moves(change, want) {
				t.Errorf("%s: %s moved by %v, want %v", kind, p, change[:2], want[:2])
			}
		}
		for l, book := range books { // rebuilt after the step, from its result
			if firstDifference(got[levelPath(l, "state/cache")].Data, book.Data) >= 0 {
				t.Errorf("%s: the cache of level %d is not the codebook", kind, l)
			}
			for _, g := range got[levelPath(l, "state/cache_gradient")].Data {
				if g != 0 {
					t.Fatalf("%s: collected gradients survive the refresh", kind)
				}
			}
		}
	}
}

// moves says whether either step is more than rounding: B has no gradient while
// A is zero.
func moves(a, b []float32) bool {
	return max(slices.Max(a), slices.Max(b), -slices.Min(a), -slices.Min(b)) > 1e-7
}

// Clipping also bounds the gradients that a step accumulates.
func TestClippingBoundsTheGradient(t *testing.T) {
	for _, gradient := range []string{"live", "accumulate"} {
		c := tiny(t, "grit")
		c.Quantizer.Cache = vq.Cache{Period: 5, Gradient: gradient}
		c.Train.Optimizer = Optimizer{Optimizer: optim.Optimizer{Name: "sgd", Rate: 1}}
		c.Train.Schedule, c.Train.ClipNorm = optim.Schedule{Kind: "constant"}, 1e-3
		c.Train.Rates = vq.Rates{Codes: 1, Mixer: 1, Feature: 1, Radius: 1}
		trainer := start(t, c, open(t, tinySet), t.TempDir(), false, Observer{})
		if err := trainer.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := read(t, trainer)
		if err := step(t, trainer, 0); err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for p, a := range read(t, trainer) {
			if strings.HasSuffix(p, "state/cache") {
				continue
			}
			for i, x := range a.Data {
				sum += math.Pow(float64(x-before[p].Data[i]), 2)
			}
		}
		if norm := math.Sqrt(sum); math.Abs(norm/1e-3-1) > 0.02 {
			t.Errorf("%s: the step has norm %g, want the bound 1e-3", gradient, norm)
		}
	}
}

// Every variable the optimizer is in charge of moves within a few steps, for
// every transform, radius and way of caching: a gradient that is silently zero
// would leave one behind. All others stay.
func TestEveryTrainedVariableMoves(t *testing.T) {
	source := open(t, tinySet)
	cases := map[string]Config{}
	for _, kind := range []transform.Kind{
		transform.KindIdentity, transform.KindLinear, transform.KindLowRank, transform.KindFull, transform.KindGrouped,
		transform.KindAttention, transform.KindAttentionTopK, transform.KindAttentionLowRank,
	} {
		for _, joint := range []bool{true, false} {
			for _, norm := range []string{transform.RowNormNone, transform.RowNormGain} {
				for _, cache := range []vq.Cache{{Period: 1, Gradient: "live"}, {Period: 3, Gradient: "live"}, {Period: 3, Gradient: "accumulate"}} {
					if kind == transform.KindIdentity && !joint {
						continue // nothing to learn
					}
					c := tiny(t, "grit")
					c.Quantizer.Transform.Kind, c.Quantizer.Transform.RowNorm, c.Quantizer.Transform.Joint = kind, norm, joint
					c.Quantizer.Cache = cache
					if !joint {
						c.Quantizer.Learn = "frozen"
					}
					cases[fmt.Sprintf("%s joint=%v norm=%s cache=%d %s", kind, joint, norm, cache.Period, cache.Gradient)] = c
				}
			}
		}
	}
	for _, family := range radius.Names() {
		for _, mode := range radius.Modes {
			c := tiny(t, "grit")
			r := &c.Quantizer.Radius
			r.Kind, r.Mode, r.Scalar.Value = radius.Kind(family), mode, 1.1
			switch r.Kind {
			case radius.Mahalanobis:
				r.Learned, r.Metric, r.Rank = true, "low-rank", 2
			case radius.Euclidean, radius.PNorm, radius.Adaptive:
			default:
				r.Scalar.Use = radius.Learned
			}
			cases[fmt.Sprintf("radius %s %s", family, mode)] = c
		}
	}
	for _, method := range vq.MethodNames() {
		if !vq.Classical(method) {
			cases[method] = tiny(t, method)
		}
	}
	for name, c := range cases {
		c.Model.Dim, c.Model.Hidden, c.Quantizer.Start.Warmup = 4, []int{6}, 0
		c.Train.Schedule.Warmup = 0
		trainer := start(t, c, source, t.TempDir(), false, Observer{})
		if err := trainer.start(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		before := read(t, trainer)
		for i := range 7 { // two refreshes: B moves once A has
			if err := step(t, trainer, i); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for p, a := range read(t, trainer) {
			if strings.HasPrefix(p, "optimizer/") || weights.GroupOf(p) == weights.State {
				continue
			}
			want := trainer.role(p) != train.Fixed
			if moved := firstDifference(a.Data, before[p].Data) >= 0; moved != want {
				t.Errorf("%s: %s moved: %v", name, p, moved)
			}
		}
	}
}

// The last steps train the decoder alone: encoder and codes keep their bits, also codes
// that follow averages.
func TestFinishTrainsTheDecoderAlone(t *testing.T) {
	pulled := tiny(t, "grit")
	pulled.Quantizer.Average.Pull = 1
	for name, c := range map[string]Config{"grit": tiny(t, "grit"), "pulled": pulled, "ema": tiny(t, "ema")} {
		c.Train.Steps, c.Train.Finish, c.Quantizer.Resets.Every = 20, 0.5, 5
		trainer := start(t, c, open(t, tinySet), t.TempDir(), false, Observer{})
		if err := trainer.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		var before weights.Set
		for i := range 20 {
			if i == 10 {
				before = exported(t, trainer)
			}
			if err := step(t, trainer, i); err != nil {
				t.Fatal(err)
			}
		}
		for p, a := range exported(t, trainer) {
			want := strings.HasPrefix(p, "decoder/")
			if moved := firstDifference(a.Data, before[p].Data) >= 0; moved != want {
				t.Errorf("%s: %s moved: %v", name, p, moved)
			}
		}
	}
}

// The neighbours of attention belong to the codes: they stay as well.
func TestFinishKeepsNeighbours(t *testing.T) {
	c := tiny(t, "grit")
	c.Quantizer.Transform.Kind, c.Quantizer.Codes = "attention-topk", 32
	c.Train.Steps, c.Train.Finish, c.Train.Rates.Codes = rewireEvery+1, 2/float64(rewireEvery), 30
	trainer := start(t, c, open(t, tinySet), t.TempDir(), false, Observer{})
	if err := trainer.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var before weights.Set
	for i := range rewireEvery {
		if i == rewireEvery-1 {
			before = exported(t, trainer)
		}
		if err := step(t, trainer, i); err != nil {
			t.Fatal(err)
		}
	}
	for p, a := range exported(t, trainer) {
		if at := firstDifference(a.Data, before[p].Data); at >= 0 {
			t.Errorf("%s moved at %d", p, at)
		}
	}
}

// The averaged weights follow every trained variable at the pace of their
// decay, also those that move once a refresh.
func TestAveragedWeightsFollow(t *testing.T) {
	accumulate, averaged, pulled := tiny(t, "grit"), tiny(t, "grit"), tiny(t, "grit")
	accumulate.Quantizer.Cache = vq.Cache{Period: 4, Gradient: "accumulate"}
	averaged.Quantizer.Learn = "ema"
	pulled.Quantizer.Average.Pull = 1
	for name, c := range map[string]Config{
		"accumulate": accumulate, "averaged": averaged, "pulled": pulled, "ema": tiny(t, "ema"), "ste": tiny(t, "ste"),
	} {
		c.Train.Average = 0.75
		trainer := start(t, c, open(t, tinySet), t.TempDir(), false, Observer{})
		if err := trainer.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := read(t, trainer)
		for i := range 30 {
			if err := step(t, trainer, i); err != nil {
				t.Fatal(err)
			}
			now := read(t, trainer)
			for p := range want {
				shadow, ok := want[train.AveragePrefix+p]
				if !ok {
					continue
				}
				decay := min(0.75, float32(i+2)/float32(i+11)) // it forgets the start
				for j, x := range now[p].Data {
					shadow.Data[j] = decay*shadow.Data[j] + (1-decay)*x
				}
			}
		}
		now, out := read(t, trainer), exported(t, trainer)
		for p, a := range now {
			if !strings.HasPrefix(p, train.AveragePrefix) {
				continue
			}
			if e := relative(a.Data, want[p].Data); !(e < 1e-5) {
				t.Errorf("%s: %s is off by %g", name, p, e)
			}
			if firstDifference(out[strings.TrimPrefix(p, train.AveragePrefix)].Data, a.Data) >= 0 {
				t.Errorf("%s: the export does not hold %s", name, p)
			}
		}
	}
}

// Codes pulled to the centroid of their latents still follow the loss: the two
// steps add up.
func TestPulledCodesGoBothWays(t *testing.T) {
	moves := func(pull, rate float64) []float32 {
		c := tiny(t, "grit")
		c.Quantizer.Start.Warmup, c.Quantizer.Average.Pull, c.Train.Rates.Codes = 0, pull, rate
		c.Train.Schedule.Warmup = 0
		trainer := start(t, c, open(t, tinySet), t.TempDir(), false, Observer{})
		if err := trainer.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		const codes = "quantizer/level0/codes"
		before := read(t, trainer)[codes]
		if err := step(t, trainer, 0); err != nil {
			t.Fatal(err)
		}
		moved := read(t, trainer)[codes]
		for i, x := range before.Data {
			moved.Data[i] -= x
		}
		return moved.Data
	}
	both, loss, pull := moves(1, 1), moves(0, 1), moves(1, 1e-12)
	sum, size := make([]float32, len(both)), 0.0
	for i := range sum {
		sum[i] = loss[i] + pull[i]
		size += math.Abs(float64(pull[i]))
	}
	if e := relative(both, sum); !(e < 1e-3) || size == 0 {
		t.Errorf("both steps differ from their sum by %g; the pull is %g long", e, size)
	}
}

func exported(t *testing.T, trainer *Trainer) weights.Set {
	t.Helper()
	set, err := trainer.loop.Variables(true)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// Steps must not leave memory or goroutines behind.
func TestStepsLeaveNothingBehind(t *testing.T) {
	c := everything(t, "grit")
	c.Quantizer.Cache = vq.Cache{Period: 4, Gradient: "live"}
	c.Train.Steps, c.Train.Patience, c.Train.Batch = 100_000, 0, 64
	trainer := start(t, c, open(t, tinySet), t.TempDir(), false, Observer{})
	trainer.config.Quantizer.Start.Warmup = 0
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	advance := func(n int) {
		for range n {
			if err := step(t, trainer, trainer.Step()); err != nil {
				t.Fatal(err)
			}
		}
	}
	advance(100)
	before, goroutines := heap(), runtime.NumGoroutine()
	advance(500)
	if growth := int64(heap()) - int64(before); growth > 1<<20 {
		t.Errorf("500 steps left %d KiB behind", growth>>10)
	}
	if n := runtime.NumGoroutine(); n > goroutines+1 {
		t.Errorf("%d goroutines became %d", goroutines, n)
	}
}

// Parameters trained once a refresh count their own updates: Adam's first step
// has the length of the rate in every element, however many batches it waited
// for.
func TestDeferredParametersCountTheirOwnUpdates(t *testing.T) {
	c := tiny(t, "grit")
	c.Quantizer.Cache = vq.Cache{Period: 6, Gradient: "accumulate"}
	c.Train.Optimizer = Optimizer{Optimizer: optim.Optimizer{Name: "adam", Rate: 0.01, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-12}}
	c.Train.Schedule, c.Train.Rates.Feature = optim.Schedule{Kind: "constant"}, 1
	trainer := start(t, c, open(t, tinySet), t.TempDir(), false, Observer{})
	for i := range 7 { // the seventh begins with the refresh
		if err := step(t, trainer, i); err != nil {
			t.Fatal(err)
		}
	}
	w := read(t, trainer)[levelPath(0, "feature/w")]
	for i, x := range w.Data {
		start := 0.0
		if i%(w.Shape[1]+1) == 0 {
			start = 1 // W begins as the identity
		}
		if moved := math.Abs(float64(x) - start); math.Abs(moved-0.01) > 1e-4 {
			t.Errorf("element %d of W moved by %g, want 0.01", i, moved)
		}
	}
}
