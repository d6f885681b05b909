package vqtrain

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/vq"
)

// everything turns on all that leaves state behind between steps.
func everything(t testing.TB, method string) Config {
	c := tiny(t, method)
	c.Model.Dim, c.Model.Hidden = 4, []int{6}
	c.Quantizer.Codes = 24
	c.Quantizer.Start = vq.Start{From: "data", Warmup: 0.125}
	c.Quantizer.Dropout = 0.5
	c.Quantizer.Resets = vq.Resets{Every: 6, Threshold: 0.5, Window: 1, Until: 1}
	c.Train.Average, c.Train.Evaluate, c.Train.Patience = 0.9, 4, 100
	c.Train.Log = 3
	return c
}

func variants(t testing.TB) map[string]Config {
	live, accumulate, averaged := everything(t, "grit"), everything(t, "grit"), everything(t, "grit")
	attention, product, ema := everything(t, "grit"), everything(t, "grit"), everything(t, "ema")
	live.Quantizer.Cache = vq.Cache{Period: 4, Gradient: "live"}
	live.Quantizer.Transform.SpectralClip = 1.01
	live.Quantizer.Radius.Kind, live.Quantizer.Radius.Scalar.Use = "huber", "learned"
	accumulate.Quantizer.Cache = vq.Cache{Period: 4, Gradient: "accumulate"}
	accumulate.Train.Optimizer.Name = "adamw"
	accumulate.Train.Optimizer.WeightDecay = 0.01
	averaged.Quantizer.Learn = "ema"
	averaged.Train.Optimizer.Name = "adagrad"
	attention.Quantizer.Transform.Kind = transform.KindAttentionTopK
	attention.Quantizer.Radius.Kind, attention.Quantizer.Radius.PerCode = "adaptive-mahalanobis", true
	attention.Quantizer.Shared = true
	attention.Quantizer.Resets.Threshold = 0.2
	product.Quantizer.Parts = 2
	product.Train.Optimizer.Name = "sgd"
	pulled := everything(t, "grit")
	pulled.Quantizer.Average.Pull = 0.5
	beam := everything(t, "grit")
	beam.Quantizer.Beam, beam.Quantizer.Start.From, beam.Train.Accumulate = 3, "rq", 2
	affine, implicit := everything(t, "grit"), everything(t, "qinco")
	affine.Quantizer.Transform.Levels, affine.Quantizer.Transform.HiddenDrop, affine.Quantizer.Beam = transform.LevelsAffine, 0.2, 3
	implicit.Quantizer.Transform.Hidden, implicit.Quantizer.Beam = 4, 3
	averagedProduct := averaged
	averagedProduct.Quantizer.Parts = 2
	return map[string]Config{
		"live cache": live, "accumulating cache": accumulate, "ema": ema, "ema under a transform": averaged,
		"attention, shared": attention, "product": product, "averaged product": averagedProduct, "pulled": pulled, "beam": beam,
		"ste": everything(t, "ste"), "affine levels": affine, "qinco": implicit,
	}
}

// A run interrupted anywhere and resumed ends exactly as one that was not: the
// same export, the same log, byte for byte.
func TestResumedRunIsIdentical(t *testing.T) {
	source := open(t, tinySet)
	for name, c := range variants(t) {
		t.Run(name, func(t *testing.T) {
			straight := t.TempDir()
			uninterrupted := start(t, c, source, straight, false, Observer{})
			want := run(t, uninterrupted)
			if uninterrupted.state.Resets == 0 {
				t.Error("the run reset no code, so resuming resets is untested")
			}
			dir := t.TempDir()
			for _, stop := range []int{2, 17, 29} { // during warm-up, between refreshes, late
				ctx, cancel := context.WithCancel(t.Context())
				trainer := start(t, c, source, dir, true, Observer{Step: func(r Record) {
					if r.Step == stop {
						cancel()
					}
				}})
				if _, err := trainer.Run(ctx); !errors.Is(err, train.ErrInterrupted) {
					t.Fatalf("interrupted run returned %v", err)
				}
				if trainer.Step() != stop {
					t.Fatalf("stopped after step %d, want %d", trainer.Step(), stop)
				}
				trainer.Close()
			}
			got := run(t, start(t, c, source, dir, true, Observer{}))
			identical(t, got, want)
			logs := [2][]byte{}
			for i, d := range []string{straight, dir} {
				var err error
				if logs[i], err = os.ReadFile(filepath.Join(d, "log.jsonl")); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(logs[0], logs[1]) {
				t.Errorf("the logs differ:\n%s\n%s", logs[0], logs[1])
			}
		})
	}
}

// Two runs with one seed are identical, another seed is not.
func TestSeedDecidesEverything(t *testing.T) {
	source, c := open(t, tinySet), everything(t, "grit")
	first := run(t, start(t, c, source, t.TempDir(), false, Observer{}))
	identical(t, run(t, start(t, c, source, t.TempDir(), false, Observer{})), first)
	c.Seed++
	other := run(t, start(t, c, source, t.TempDir(), false, Observer{}))
	for _, p := range []string{"encoder/layer0/weights", levelPath(0, "codes")} {
		if firstDifference(other[p].Data, first[p].Data) < 0 {
			t.Errorf("%s does not depend on the seed", p)
		}
	}
}

// An interruption that arrives while held-out rows are scored must not lose the
// evaluation: patience would count differently after resuming.
func TestInterruptionDuringEvaluationKeepsIt(t *testing.T) {
	source, c := open(t, tinySet), tiny(t, "ste")
	c.Train.Evaluate, c.Train.Patience = 4, 100
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	trainer := start(t, c, source, t.TempDir(), false, Observer{})
	for range 3 {
		if err := step(t, trainer, trainer.Step()); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := trainer.loop.Advance(ctx, inputs(t, trainer, 3)); err != nil {
		t.Fatal(err)
	}
	if trainer.Step() != 4 || trainer.record.Held == nil {
		t.Errorf("the evaluation at step %d was lost", trainer.Step())
	}
}

func TestResumeRefusesAnotherExperiment(t *testing.T) {
	source, c, dir := open(t, tinySet), tiny(t, "ste"), t.TempDir()
	trainer := start(t, c, source, dir, false, Observer{})
	if err := step(t, trainer, 0); err != nil {
		t.Fatal(err)
	}
	if err := trainer.loop.Save(); err != nil {
		t.Fatal(err)
	}
	other := c
	other.Train.Optimizer.Rate *= 2
	for word, try := range map[string]func() (*Trainer, error){
		"other settings": func() (*Trainer, error) {
			return New(t.Context(), trainer.backend, other, source, Options{Dir: dir, Data: "data", Resume: true})
		},
		"other data": func() (*Trainer, error) {
			return New(t.Context(), trainer.backend, c, source, Options{Dir: dir, Data: "changed", Resume: true})
		},
	} {
		if _, err := try(); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("resuming with %s: %v", word, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, train.CheckpointFile), []byte("not a checkpoint"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := New(t.Context(), trainer.backend, c, source, Options{Dir: dir, Data: "data", Resume: true})
	if err == nil || !strings.Contains(err.Error(), "cannot be resumed") {
		t.Errorf("a damaged checkpoint: %v", err)
	}
}

// What was logged after the checkpoint is cut off on resume; a log that was
// lost does not become one full of zero bytes.
func TestResumeCutsTheLog(t *testing.T) {
	source, c, dir := open(t, tinySet), tiny(t, "ste"), t.TempDir()
	c.Train.Log = 1
	trainer := start(t, c, source, dir, false, Observer{})
	log := filepath.Join(dir, "log.jsonl")
	for i := range 5 {
		if i == 3 {
			if err := trainer.loop.Save(); err != nil {
				t.Fatal(err)
			}
		}
		if err := step(t, trainer, i); err != nil {
			t.Fatal(err)
		}
	}
	for _, records := range []int{3, 0} {
		resumed := start(t, c, source, dir, true, Observer{})
		got, err := ReadLog(log)
		if err != nil || len(got) != records {
			t.Errorf("after resuming the log holds %d records (%v), want %d", len(got), err, records)
		}
		if resumed.Step() != 3 {
			t.Errorf("resumed at step %d", resumed.Step())
		}
		resumed.Close()
		if err := os.Remove(log); err != nil {
			t.Fatal(err)
		}
	}
}

// The export holds the model alone: no moments, averages, caches or counts.
func TestExportLeavesTrainingStateOut(t *testing.T) {
	for name, c := range variants(t) {
		c.Train.Steps = 8
		set := run(t, start(t, c, open(t, tinySet), t.TempDir(), false, Observer{}))
		for p := range set {
			for _, word := range []string{"optimizer/", "average/", "cache", "counts", "sums"} {
				if strings.Contains(p, word) {
					t.Errorf("%s exports %s", name, p)
				}
			}
		}
		if set["state/mean"] == nil || set.Count() == 0 {
			t.Errorf("%s exports %v", name, set.Paths())
		}
	}
}
