package vqtrain

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// parentOf trains a tokenizer and returns it as a start of further training.
func parentOf(t testing.TB, c Config, s Source) *Trained {
	t.Helper()
	trainer := start(t, c, s, t.TempDir(), false, Observer{})
	set := run(t, trainer)
	return trainedAs(t, trainer, set)
}

func trainedAs(t testing.TB, trainer *Trainer, set weights.Set) *Trained {
	t.Helper()
	r, err := trainer.Runtime(set)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	_, usage, err := r.Evaluate(t.Context(), trainer.source.Set, trainer.source.Train, tokenizer.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Trained{Tokenizer: trainer.model, Weights: set, Codebooks: r.Codebooks(), Usage: counts(usage, len(r.Codebooks()))}
}

func counts(usage *eval.Usage, slots int) (all [][]int64) {
	for slot := range slots {
		var row []int64
		for _, n := range usage.Histogram(slot) {
			row = append(row, int64(n))
		}
		all = append(all, row)
	}
	return all
}

// codesOf returns the codes of the held-out rows of a source.
func codesOf(t testing.TB, from *Trained, s Source) (codes []uint32) {
	t.Helper()
	r, err := tokenizer.NewRuntime(gradtest.Engine(t), from.Tokenizer, from.Weights, from.Codebooks)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	err = r.EncodeRows(t.Context(), s.HeldSet, s.Held, tokenizer.Options{}, func(b tokenizer.Coded) error {
		codes = append(codes, b.Codes...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return codes
}

// elsewhere is a source of the kind of tinySet with other vectors.
func elsewhere(t testing.TB) Source { return open(t, "synthetic:manifold?rows=600&dim=8") }

func sameBooks(a, b []*weights.Array) bool {
	return slices.EqualFunc(a, b, func(a, b *weights.Array) bool { return firstDifference(a.Data, b.Data) < 0 })
}

// With encoder and codes frozen, every method trains the decoder alone: all else keeps its bytes and every row its
// codes. With the decoder frozen the decoder keeps its bytes.
func TestFrozenPartsStayForEveryMethod(t *testing.T) {
	first, second := open(t, tinySet), elsewhere(t)
	every(t, func(t *testing.T, method string) {
		if vq.Classical(method) {
			t.Skip("fitted at once")
		}
		c := lively(t, method)
		from := parentOf(t, c, first)
		second.From = from
		for _, freeze := range [][]string{{FreezeEncoder, FreezeCodes}, {FreezeDecoder}} {
			c := c.Continued()
			c.Train.Freeze = freeze
			now := parentOf(t, c, second)
			changed := map[string]bool{}
			for p, a := range from.Weights {
				part, _, _ := strings.Cut(p, "/")
				changed[part] = changed[part] || firstDifference(now.Weights[p].Data, a.Data) >= 0
			}
			for _, part := range []string{"encoder", "quantizer", "state", "decoder"} {
				kept := slices.Contains(freeze, part) || part == "quantizer" && len(freeze) == 2 || part == "state"
				if changed[part] && kept || !changed[part] && !kept && part != "quantizer" {
					t.Errorf("frozen %v: %s changed: %t", freeze, part, changed[part])
				}
			}
			if len(freeze) == 1 {
				continue
			}
			if !sameBooks(now.Codebooks, from.Codebooks) {
				t.Errorf("the codebooks changed")
			}
			if !slices.Equal(codesOf(t, now, second), codesOf(t, from, second)) {
				t.Error("rows changed their codes")
			}
		}
	})
}

// Further training lowers the held-out error of new data, frozen parts or not, and keeps the scaling of the old data.
func TestFurtherTrainingFitsNewData(t *testing.T) {
	c := learner(t, "grit")
	c.Train.Steps = 200
	from := parentOf(t, c, open(t, "synthetic:mixture?rows=2000&dim=8"))
	source := open(t, "synthetic:manifold?rows=2000&dim=8")
	source.From = from
	c.Train.Validation = 0.1
	for _, freeze := range [][]string{nil, {FreezeEncoder, FreezeCodes}, {FreezeDecoder}} {
		c := c.Continued()
		c.Train.Freeze = freeze
		before, err := start(t, c, source, t.TempDir(), false, Observer{}).startError(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		result, err := fitted(t, c, source, FitOptions{})
		if err != nil {
			t.Fatal(err)
		}
		held, _, err := result.Runtime.Evaluate(t.Context(), source.HeldSet, source.Held, tokenizer.Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if after := held.Summary().Criterion; !(after < 0.9*before) {
			t.Errorf("frozen %v: held-out error %g, before %g", freeze, after, before)
		}
		for _, p := range []string{"state/mean", "state/scale"} {
			if firstDifference(result.Weights[p].Data, from.Weights[p].Data) >= 0 {
				t.Errorf("frozen %v: %s changed", freeze, p)
			}
		}
	}
	// Training that can only harm gives the tokenizer back.
	worse := c.Continued()
	worse.Train.Optimizer.Rate, worse.Train.ClipNorm = 5, 0
	result, err := fitted(t, worse, source, FitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if result.Choice == nil || !result.Choice.Kept {
		t.Fatalf("the choice is %+v", result.Choice)
	}
	identical(t, result.Weights, from.Weights)
}

// Levels and codes are added to a trained tokenizer: with frozen codes the trained ones keep their bytes, the added
// ones are trained, and the error falls.
func TestLevelsAndCodesAreAdded(t *testing.T) {
	first, second := open(t, tinySet), elsewhere(t)
	for name, change := range map[string]func(c *Config){
		"ste":         func(c *Config) {},
		"grit":        func(c *Config) { c.Train.Average = 0.9 },
		"ema":         func(c *Config) {},
		"parts":       func(c *Config) { c.Quantizer.Parts = 2 },
		"affine":      func(c *Config) { c.Quantizer.Transform.Levels, c.Quantizer.Transform.Hidden = "affine", 8 },
		"implicit":    func(c *Config) { c.Quantizer.Transform.Levels, c.Quantizer.Transform.Hidden = "implicit", 8 },
		"accumulated": func(c *Config) { c.Quantizer.Cache.Period, c.Quantizer.Cache.Gradient = 4, "accumulate" },
	} {
		t.Run(name, func(t *testing.T) {
			method := "grit"
			if name == "ste" || name == "ema" {
				method = name
			}
			c := tiny(t, method)
			c.Quantizer.Resets.Every, c.Quantizer.Resets.Window = 10, 2
			change(&c)
			from := parentOf(t, c, first)
			second.From = from
			before := score(t, start(t, c.Continued(), second, t.TempDir(), false, Observer{}), from.Weights, second.Held).MSE
			c = c.Continued()
			c.Train.Freeze = []string{FreezeEncoder, FreezeCodes, FreezeDecoder}
			c.Quantizer.Levels, c.Quantizer.Codes = 3, 12
			trainer := start(t, c, second, t.TempDir(), false, Observer{})
			if err := trainer.start(t.Context()); err != nil {
				t.Fatal(err)
			}
			begin := read(t, trainer)
			set := run(t, start(t, c, second, t.TempDir(), false, Observer{}))
			after := score(t, trainer, set, second.Held).MSE
			if !(after < before) {
				t.Errorf("error %g with more codes, %g before", after, before)
			}
			if err := trainer.renew(set); err != nil {
				t.Fatal(err)
			}
			books := trainer.runtime.Codebooks()
			layout := trainer.model.Quantizer.Layout()
			for slot, book := range books {
				p := vq.Prefix + "/" + layout.Path(slot) + "/codes"
				moved := firstDifference(set[p].Data, begin[p].Data)
				at, old := trainer.trainedSlot(slot)
				if !old {
					if moved < 0 {
						t.Errorf("the added codes of slot %d were not trained", slot)
					}
					continue
				}
				trained := from.Codebooks[at]
				if firstDifference(trained.Data, book.Data) >= 0 {
					t.Errorf("trained codes of slot %d changed", slot)
				}
				if moved >= 0 && moved < len(trained.Data) || moved < 0 {
					t.Errorf("slot %d: raw codes changed from element %d of %d trained ones", slot, moved, len(trained.Data))
				}
			}
		})
	}
}

// Further training that was stopped and resumed ends with the same bytes.
func TestFurtherTrainingResumes(t *testing.T) {
	source := open(t, tinySet)
	c := lively(t, "grit")
	source.From = parentOf(t, c, source)
	c = c.Continued()
	c.Quantizer.Levels++
	c.Train.Freeze = []string{FreezeCodes}
	want := run(t, start(t, c, source, t.TempDir(), false, Observer{}))
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	stopped := start(t, c, source, dir, false, Observer{Step: func(r Record) {
		if r.Step == 9 {
			cancel()
		}
	}})
	if _, err := stopped.Run(ctx); !errors.Is(err, train.ErrInterrupted) {
		t.Fatal(err)
	}
	stopped.Close()
	identical(t, run(t, start(t, c, source, dir, true, Observer{})), want)
}

// Pictures: a tokenizer whose cells are coded in phases is trained further with its decoder alone.
func TestPicturesAreTrainedFurther(t *testing.T) {
	source := scenes(t, "synthetic:scenes?images=40&size=16", nil)
	for name, phases := range map[string]int{"plain": 0, "phases": 2} {
		c := small(t, "grit")
		c.Quantizer.Transform.Context, c.Quantizer.Transform.ContextWidth = phases, 8
		c.Train.Steps = 20
		from := parentOf(t, c, source)
		other := source
		other.Train, other.Held = dataset.Split(source.Set.Len(), 0.2, 2)
		other.From = from
		c = c.Continued()
		c.Train.Freeze = []string{FreezeEncoder, FreezeCodes}
		now := parentOf(t, c, other)
		decoder := false
		for p, a := range from.Weights {
			changed := firstDifference(now.Weights[p].Data, a.Data) >= 0
			if own := strings.HasPrefix(p, "decoder/"); changed && !own {
				t.Errorf("%s: %s changed", name, p)
			} else if own {
				decoder = decoder || changed
			}
		}
		if !slices.Equal(codesOf(t, now, other), codesOf(t, from, other)) {
			t.Errorf("%s: pictures changed their codes", name)
		}
		if !decoder {
			t.Errorf("%s: the decoder did not change", name)
		}
	}
}

func TestContradictionsAreRefused(t *testing.T) {
	source, c := open(t, tinySet), tiny(t, "grit")
	c.Train.Steps = 2
	from := parentOf(t, c, source)
	for want, change := range map[string]func(c *Config){
		"quantizer.method: ste contradicts":   func(c *Config) { c.Quantizer.Method, c.Quantizer.Transform = "ste", transform.None() },
		"model.standardize: none contradicts": func(c *Config) { c.Model.Standardize = "none" },
		"quantizer.transform.rank: 2":         func(c *Config) { c.Quantizer.Transform.Rank = 2 },
		"codes and levels can only be added":  func(c *Config) { c.Quantizer.Codes = 4 },
		"leaves nothing to train":             func(c *Config) { c.Train.Freeze = []string{FreezeCodes} },
		"quantizer.beam: 2 contradicts": func(c *Config) {
			c.Quantizer.Beam, c.Quantizer.Levels, c.Train.Freeze = 2, 3, []string{FreezeCodes}
		},
		"unknown part \"network\"": func(c *Config) { c.Train.Freeze = []string{"network"} },
		"leave it empty":           func(c *Config) { c.Train.Choose = []string{"train.noise"} },
	} {
		other, s := c.Continued(), source
		other.Quantizer.Beam, s.From = from.Tokenizer.Spec.Quantizer.Beam, from
		change(&other)
		if _, err := New(t.Context(), gradtest.Engine(t), other, s, Options{Data: "data"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	c = c.Continued()
	c.Train.Freeze = []string{FreezeEncoder}
	_, err := New(t.Context(), gradtest.Engine(t), c, source, Options{Data: "data"})
	if err == nil || !strings.Contains(err.Error(), "--from") {
		t.Errorf("freezing without a tokenizer: %v", err)
	}
	attention := tiny(t, "grit")
	attention.Quantizer.Transform.Kind, attention.Train.Steps = "attention", 2
	source.From = parentOf(t, attention, source)
	attention = attention.Continued()
	attention.Quantizer.Codes = 12
	if _, err := start(t, attention, source, t.TempDir(), false, Observer{}).Run(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "kind attention") {
		t.Errorf("more codes under attention: %v", err)
	}
}
