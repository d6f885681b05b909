package vqtrain

import (
	"cmp"
	"context"
	"testing"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// score evaluates exported variables on rows of a source.
func score(t testing.TB, trainer *Trainer, set weights.Set, rows dataset.Selection) tokenizer.Scores {
	t.Helper()
	books, err := tokenizer.Usable(trainer.backend, trainer.model, set)
	if err != nil {
		t.Fatal(err)
	}
	runtime, err := tokenizer.NewRuntime(trainer.backend, trainer.model, set, books)
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close()
	scores, _, err := runtime.Evaluate(context.Background(), trainer.source.Set, rows, tokenizer.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return *scores.(*tokenizer.Scores)
}

// On a mixture of 64 tight Gaussians the best 64 codes are the centres, whose
// error is the noise. Started one code a component but 0.3 away from its centre
// in every dimension, 37 times the optimum, every method whose codes can be placed
// comes close to it.
func TestMethodsReachTheKnownOptimum(t *testing.T) {
	source := open(t, "synthetic:mixture?rows=8000&dim=16")
	mixture := vectors.NewMixture(16, 1)
	optimum := mixture.Noise * mixture.Noise
	bounds := map[string]float64{
		// These codes start at a fixed length, farther from the target, and are still
		// moving; four times the steps bring both within 4 %.
		"ibq": 1.4, "hypervq": 1.6,
		// Its codes also serve the lines to their neighbours on the curve, which visits
		// the centres in no order here: it does not minimise the hard error.
		"sf-diveq": 12,
	}
	reached := 0
	for _, method := range vq.MethodNames() {
		if vq.Classical(method) {
			continue
		}
		c, err := Default(method)
		if err != nil {
			t.Fatal(err)
		}
		c.Model.Dim, c.Model.Hidden, c.Model.Standardize = 0, nil, "none"
		c.Quantizer.Codes, c.Quantizer.Levels, c.Quantizer.Parts = vectors.MixtureComponents, 1, 1
		c.Quantizer.Start = vq.Start{From: "data"}
		c.Quantizer.Resets.Every = 0
		c.Quantizer.Average.Decay = 0.9
		c.Train.Steps, c.Train.Batch, c.Train.Evaluate = 300, 256, 0
		c.Train.Optimizer.Rate = 0.01
		trainer := start(t, c, source, t.TempDir(), false, Observer{})
		if err := trainer.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		set, rng := read(t, trainer), weights.Rand(1, "near the centres")
		rows, targets := make([]int, vectors.MixtureComponents), make([]float32, len(mixture.Centres))
		for i := range rows {
			rows[i] = i
		}
		for i, x := range mixture.Centres {
			targets[i] = x + float32(0.3*rng.NormFloat64())
		}
		if _, err := vq.Place(trainer.model.Quantizer, set.Sub("quantizer"), 0, rows, targets); err != nil {
			continue // its codes are computed; the conformance suite bounds its error
		}
		if err := trainer.bank.Install(set); err != nil {
			t.Fatal(err)
		}
		before := score(t, trainer, set, source.Held).MSE / optimum
		scores := score(t, trainer, run(t, trainer), source.Held)
		t.Logf("%s: error %.5f, %.3f of the optimum, %.1f before; utilization %.3f",
			method, scores.MSE, scores.MSE/optimum, before, scores.Utilization.Mean)
		bound := cmp.Or(bounds[method], 1.1)
		if scores.MSE > bound*optimum || before < 30 {
			t.Errorf("%s: error %g from %g, the optimum is %g", method, scores.MSE, before*optimum, optimum)
		}
		reached++
	}
	if reached < 12 { // all but those with computed codes
		t.Errorf("only %d methods took part", reached)
	}
}

// GRIT keeps a large codebook in use on the built-in set with structure.
func TestGRITUtilization(t *testing.T) {
	if testing.Short() {
		t.Skip("three runs of some seconds each")
	}
	source := open(t, "synthetic:manifold?rows=60000")
	for seed := range uint64(3) {
		c, err := Default("grit")
		if err != nil {
			t.Fatal(err)
		}
		c.Seed = seed + 1
		c.Model.Dim, c.Model.Hidden = 0, nil
		c.Quantizer.Codes, c.Quantizer.Levels = 1024, 1
		c.Quantizer.Start.From = "data"
		c.Train.Steps, c.Train.Batch, c.Train.Evaluate = 200, 1024, 0
		trainer := start(t, c, source, t.TempDir(), false, Observer{})
		scores := score(t, trainer, run(t, trainer), dataset.All(source.Set.Len()))
		t.Logf("seed %d: utilization %.4f, perplexity %.0f, relative error %.3f",
			c.Seed, scores.Utilization.Mean, scores.Perplexity.Mean, scores.RelativeError)
		if scores.Utilization.Mean <= 0.95 {
			t.Errorf("seed %d: utilization %.4f, want more than 0.95", c.Seed, scores.Utilization.Mean)
		}
	}
}
