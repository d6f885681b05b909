package vqtrain

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

// A spike scales feature maps back, resets codes that were thrown off the latents and
// says so; codes near the latents and other weights stay.
func TestSpikeClipsAndResets(t *testing.T) {
	c := tiny(t, "grit")
	c.Quantizer.Resets.Every, c.Train.Steps = 1000, 1000
	trainer := start(t, c, open(t, tinySet), t.TempDir(), false, Observer{})
	if err := step(t, trainer, 0); err != nil {
		t.Fatal(err)
	}
	set := read(t, trainer)
	codes, w := set[levelPath(0, "codes")], set[levelPath(1, "feature/w")]
	far := codes.Clone()
	for j := range far.Row(3) {
		far.Row(3)[j] = 1e4
	}
	wild := w.Clone()
	for i := range wild.Data {
		wild.Data[i] *= 4 * featureLimit
	}
	if err := trainer.bank.Install(weights.Set{levelPath(0, "codes"): far, levelPath(1, "feature/w"): wild}); err != nil {
		t.Fatal(err)
	}
	trainer.state.Smooth = 1
	if err := trainer.loop.Log(train.Record{Step: spikeAfter + 2}); err != nil {
		t.Fatal(err)
	}
	batch := inputs(t, trainer, 0)
	s := &train.Step{Record: &train.Record{Step: spikeAfter + 2}, Kept: true, Scalars: []float32{spikeFactor + 1}, Inputs: batch}
	if err := trainer.guard(s); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"times its mean", "scaled back", "1 codes far from all others were reset"} {
		if !strings.Contains(s.Event, want) {
			t.Errorf("event %q does not say %q", s.Event, want)
		}
	}
	after := read(t, trainer)
	if size := math.Abs(float64(slices.Max(after[levelPath(0, "codes")].Row(3)))); size > 100 {
		t.Errorf("the thrown code is still at %g", size)
	}
	for i := range codes.Shape[0] {
		if i != 3 && !slices.Equal(after[levelPath(0, "codes")].Row(i), far.Row(i)) {
			t.Errorf("code %d moved", i)
		}
	}
	if x, before := after[levelPath(1, "feature/w")].Data[0], wild.Data[0]; math.Abs(float64(x)) >= math.Abs(float64(before)) {
		t.Errorf("W was not scaled back: %g, before %g", x, before)
	}
}

// Drift, distances and the pull of gradients are in the log, with a cache and without,
// and the same after a resume.
func TestLogOfTheTransform(t *testing.T) {
	source := open(t, tinySet)
	for _, period := range []int{1, 7} {
		c := tiny(t, "grit")
		c.Quantizer.Cache.Period = period
		var logged []Record
		trainer := start(t, c, source, t.TempDir(), false, Observer{Step: func(r Record) { logged = append(logged, r) }})
		run(t, trainer)
		for _, r := range logged {
			if r.Step%c.Train.Log != 0 {
				continue
			}
			d, p := r.Distortion, r.Pull
			if d == nil || p == nil || !(r.Drift > 0 && r.Drift < 0.5) {
				t.Fatalf("period %d, step %d: drift %g, distances %v, pull %v", period, r.Step, r.Drift, d, p)
			}
			if !(d.Lower >= 0 && d.Lower < d.Upper && d.Least > 0 && d.Least <= d.Largest) {
				t.Errorf("period %d, step %d: distances %+v", period, r.Step, d)
			}
			if p.Aligned < 0 || p.Aligned > 1 || math.Abs(p.Encoder) > 1e-5 { // the Euclidean radius has k = 1
				t.Errorf("period %d, step %d: pull %+v", period, r.Step, p)
			}
		}
	}
}

// With M = I the ratios of distances lie between the singular values of W.
func TestDistancesAreBoundedBySingularValues(t *testing.T) {
	trainer := start(t, tiny(t, "grit"), open(t, tinySet), t.TempDir(), false, Observer{})
	if err := step(t, trainer, 0); err != nil {
		t.Fatal(err)
	}
	rng := weights.Rand(1, "w")
	changed := weights.Set{}
	for l := range 2 {
		changed[levelPath(l, "feature/w")] = weights.Normal(rng, 1, 8, 8)
		changed[levelPath(l, "mixer/a")] = weights.New(8, 4)
	}
	if err := trainer.bank.Install(changed); err != nil {
		t.Fatal(err)
	}
	if err := trainer.measure(&train.Step{Record: &train.Record{}}); err != nil {
		t.Fatal(err)
	}
	r, d := trainer.record, trainer.record.Distortion
	if d.Least < r.FeatureLeast*(1-1e-4) || d.Largest > r.FeatureNorm*(1+1e-4) {
		t.Errorf("ratios %g to %g, singular values %g to %g", d.Least, d.Largest, r.FeatureLeast, r.FeatureNorm)
	}
}
