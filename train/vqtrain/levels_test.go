package vqtrain

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// turning writes rows a_i + m_i(b_j) + noise for 8 far centres a_i and 8 offsets b_j, where
// m_i scales every coordinate or turns pairs of them. Given i, the offsets are known: two
// levels of 8 codes that may depend on each other reach the noise, and one codebook of
// offsets for all centres does not. The books are a_i and b_j.
func turning(t testing.TB, turns bool) (path string, noise float64, books []*weights.Array) {
	const clusters, d, rows = 8, 6, 4000
	noise = 0.02
	rng := weights.Rand(5, "turning")
	centres, offsets := weights.Normal(rng, 6, clusters, d), weights.Full(1, clusters, d)
	for j := range clusters { // corners of a cube, twice
		for k := range d {
			if j>>(k%3)&1 > 0 {
				offsets.Row(j)[k] = -1
			}
		}
	}
	change := weights.Uniform(rng, 1, clusters, d)
	data := make([]float32, 0, rows*d)
	for range rows {
		i, j := rng.IntN(clusters), rng.IntN(clusters)
		offset, amount := offsets.Row(j), change.Row(i)
		for k := range d {
			v := float64(offset[k]) * math.Exp(0.5*float64(amount[k]))
			if turns {
				sin, cos := math.Sincos(0.7 * float64(amount[k/2*2]))
				v = cos*float64(offset[k]) + []float64{-1, 1}[k%2]*sin*float64(offset[k^1])
			}
			data = append(data, centres.Row(i)[k]+float32(v+noise*rng.NormFloat64()))
		}
	}
	path = filepath.Join(t.TempDir(), "turning.npy")
	if err := vectors.Write(path, d, data); err != nil {
		t.Fatal(err)
	}
	return path, noise, []*weights.Array{centres, offsets}
}

// Codes of the second level that depend on the first learn what a plain second level
// cannot: training takes most of the plain stack's error away.
func TestLevelsLearnWhatDependsOnTheFirstCode(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, test := range []struct {
		method, levels string
		turns          bool
		most           float64 // error relative to that of the plain stack
	}{
		{"ste", "affine", false, 0.02}, {"grit", "affine", false, 0.02}, {"ste", "implicit", true, 0.02},
		{"ema", "implicit", true, 0.02}, {"grit", "implicit", true, 0.02}, {"qinco", "implicit", true, 0.02},
	} {
		path, noise, books := turning(t, test.turns)
		source := open(t, path)
		var errors [2]float64
		for i, levels := range []string{"none", test.levels} {
			method := test.method
			if method == "qinco" && levels == "none" {
				method = "ste"
			}
			c := tiny(t, method)
			c.Model.Standardize = "none"
			c.Quantizer.Codes, c.Quantizer.Transform.Levels, c.Quantizer.Transform.Hidden = 8, levels, 64
			c.Quantizer.Loss.Level, c.Quantizer.Beam = 0.1, 2
			c.Train.Steps, c.Train.Batch, c.Train.Optimizer.Rate = 1000, 128, 5e-3
			trainer := start(t, c, source, t.TempDir(), false, Observer{})
			var err error
			if trainer.model.Quantizer, err = vq.StartFrom(trainer.model.Quantizer, books); err != nil {
				t.Fatal(err)
			}
			errors[i] = score(t, trainer, run(t, trainer), source.Held).MSE
		}
		t.Logf("%s, %s: plain %.5f, dependent %.5f, noise %.5f", test.method, test.levels, errors[0], errors[1], noise*noise)
		if errors[1] > test.most*errors[0] {
			t.Errorf("%s, %s: error %g, of the plain stack %g", test.method, test.levels, errors[1], errors[0])
		}
	}
}

// The shortlist holds codes: the decay of the networks that move codes is not theirs.
func TestTheShortlistDoesNotDecay(t *testing.T) {
	var sets []weights.Set
	for _, decay := range []float64{0, 1} {
		c := tiny(t, "grit")
		c.Quantizer.Transform.Levels, c.Train.Optimizer.ConditionDecay = transform.LevelsImplicit, decay
		c.Train.Schedule.Warmup = 0
		trainer := start(t, c, open(t, tinySet), t.TempDir(), false, Observer{})
		if err := trainer.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := step(t, trainer, 0); err != nil {
			t.Fatal(err)
		}
		sets = append(sets, exported(t, trainer))
	}
	const level = "quantizer/level1/condition/"
	for path, same := range map[string]bool{level + "shortlist": true, level + "block0/p": false} {
		if at := firstDifference(sets[0][path].Data, sets[1][path].Data); (at < 0) != same {
			t.Errorf("%s is the same with and without decay: %v, want %v", path, at < 0, same)
		}
	}
}

// Adam adds decay to the gradient, which is small: as much as AdamW takes would be all of it.
func TestAdamDecaysLittle(t *testing.T) {
	for _, preset := range []func(name, method string) (Config, error){Preset, Networks, Pictures} {
		for _, name := range []string{"default", "paper"} {
			c, err := preset(name, "qinco")
			if err != nil {
				t.Fatal(err)
			}
			if o := c.Train.Optimizer; o.Name == "adam" && (o.ConditionDecay > 1e-3 || o.MixerDecay > 1e-3 || o.WeightDecay > 1e-3) {
				t.Errorf("preset %s decays by %+v", name, o)
			}
		}
	}
}
