package vqtrain

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/radius"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

// scenes opens the built-in pictures at 16 px.
func scenes(t testing.TB, path string, warn func(images.Damage)) Source {
	t.Helper()
	set, err := images.Open(t.Context(), path, images.Options{Size: 16, Warn: warn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	s := Source{Set: set, HeldSet: set}
	s.Train, s.Held = dataset.Split(set.Len(), 0.2, 1)
	return s
}

// small is a quick configuration of pictures: 16 px to a grid of 4 x 4.
func small(t testing.TB, method string) Config {
	t.Helper()
	c, err := Pictures("default", method)
	if err != nil {
		t.Fatal(err)
	}
	c.Model.Image = tokenizer.Image{Size: 16, Widths: []int{8, 8, 16}, Blocks: 1, Up: "nearest", Linear: true, Precision: "f32"}
	c.Model.Dim, c.Quantizer.Codes = 4, 16
	c.Quantizer.Transform.Rank = 4
	c.Train.Steps, c.Train.Batch, c.Train.Evaluate, c.Train.Log, c.Train.Checkpoint = 60, 8, 20, 10, 7
	c.Train.Average, c.Train.Optimizer.Rate = 0.9, 3e-3
	return c
}

// A tokenizer of pictures learns, and its held-out score is that of its export. With a linear path it begins where the
// network alone ends.
func TestPicturesAreLearned(t *testing.T) {
	source := scenes(t, "synthetic:scenes?images=60&size=16", nil)
	for _, method := range []string{"grit", "ema", "fsq", "grit alone", "ema alone", "fsq alone"} {
		var held []HeldRecord
		name, alone := strings.CutSuffix(method, " alone")
		c := small(t, name)
		c.Model.Image.Linear = !alone
		trainer := start(t, c, source, t.TempDir(), false, Observer{Step: func(r Record) {
			if r.Held != nil {
				held = append(held, *r.Held)
			}
		}})
		set := run(t, trainer)
		if len(held) != 3 || held[2].Scored != 12 {
			t.Fatalf("%s: %+v", method, held)
		}
		if alone && (!(held[2].MSE < 0.9*held[0].MSE) || held[2].PSNR < 12) || !alone && min(held[0].PSNR, held[2].PSNR) < 17.5 {
			t.Errorf("%s: %+v", method, held)
		}
		if _, _, err := trainer.evaluate(t.Context(), set); err != nil || trainer.record.Held.MSE != held[2].MSE {
			t.Errorf("%s: the export scores %+v (%v), the last evaluation %+v", method, trainer.record.Held, err, held[2])
		}
	}
}

// A run of pictures that is stopped and resumed ends with the same weights.
func TestPicturesResume(t *testing.T) {
	source, c := scenes(t, "synthetic:scenes?images=40&size=20", nil), small(t, "grit")
	c.Train.Steps, c.Train.Accumulate = 30, 2
	want := run(t, start(t, c, source, t.TempDir(), false, Observer{}))
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	stopped := start(t, c, source, dir, false, Observer{Step: func(r Record) {
		if r.Step == 17 {
			cancel()
		}
	}})
	if _, err := stopped.Run(ctx); !errors.Is(err, train.ErrInterrupted) {
		t.Fatal(err)
	}
	stopped.Close()
	identical(t, run(t, start(t, c, source, dir, true, Observer{})), want)
}

// A damaged picture costs one warning, and the run goes on.
func TestDamagedPictureIsSkipped(t *testing.T) {
	dir := t.TempDir()
	for i := range 12 {
		var content bytes.Buffer
		if err := png.Encode(&content, image.NewRGBA(image.Rect(0, 0, 16, 16))); err != nil {
			t.Fatal(err)
		}
		file := content.Bytes()
		if i == 5 {
			file = file[:40] // the header is whole, the pixels are not
		}
		if err := os.WriteFile(filepath.Join(dir, string(rune('a'+i))+".png"), file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	warned := 0
	source := scenes(t, dir, func(images.Damage) { warned++ })
	source.Train = dataset.All(12)
	c := small(t, "ste")
	c.Train.Steps, c.Quantizer.Start.From = 12, "data"
	run(t, start(t, c, source, t.TempDir(), false, Observer{}))
	if warned != 1 {
		t.Errorf("%d warnings for one damaged picture", warned)
	}
}

// A batch taken in parts steps as the whole batch does.
func TestPartsOfABatchAddUp(t *testing.T) {
	for _, method := range []string{"ste", "grit"} {
		var sets []weights.Set
		for _, parts := range []int{1, 4} {
			c := tiny(t, method)
			c.Model.Dim, c.Model.Hidden = 4, []int{6}
			c.Train.Accumulate = parts
			c.Train.Steps = 3
			trainer := start(t, c, open(t, tinySet), t.TempDir(), false, Observer{})
			sets = append(sets, run(t, trainer))
		}
		for p, a := range sets[0] {
			if e := relative(sets[1][p].Data, a.Data); e > 1e-4 {
				t.Errorf("%s: %s is off by %g", method, p, e)
			}
		}
	}
}

// A part that is not finite skips the whole step and leaves nothing behind.
func TestBadPartSkipsTheStep(t *testing.T) {
	c := tiny(t, "grit")
	c.Train.Accumulate = 2
	trainer := start(t, c, open(t, tinySet), t.TempDir(), false, Observer{})
	if err := step(t, trainer, 0); err != nil {
		t.Fatal(err)
	}
	before := read(t, trainer)
	if err := trainer.loop.Advance(t.Context(), poisoned(t, trainer)); err != nil {
		t.Fatal(err)
	}
	identical(t, read(t, trainer), before)
	if trainer.record.Skipped != 1 {
		t.Errorf("%d steps skipped", trainer.record.Skipped)
	}
	if err := step(t, trainer, 2); err != nil || trainer.record.Skipped != 1 {
		t.Errorf("after a skipped step: %v, %d skipped", err, trainer.record.Skipped)
	}
}

// A run says when it compiles, which the embedded engine does not, and when it
// places codes.
func TestStatus(t *testing.T) {
	var told []string
	watch := Observer{Status: func(text string) { told = append(told, text) }}
	trainer := start(t, tiny(t, "ste"), open(t, tinySet), t.TempDir(), false, watch)
	run(t, trainer)
	want := []string{"placing the codes"}
	if !gradtest.Embedded() {
		want = append(want, "compiling the training step")
	}
	if !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
}

// Losses that would outweigh the small error of a picture get a smaller weight;
// the paper preset stays unchanged.
func TestPicturePresets(t *testing.T) {
	for _, c := range []struct {
		preset, method string
		kind           radius.Kind
		codebook       float64 // weight of the loss
		codes, entropy float64
	}{
		{"default", "grit", radius.Power, 0.5, 3, 0.1}, {"paper", "grit", radius.Euclidean, 0, 1, 0.1},
		{"default", "lfq", radius.Euclidean, 0, 1, 0.01}, {"paper", "lfq", radius.Euclidean, 0, 1, 0.1},
		{"default", "ema", radius.Euclidean, 0, 1, 0.1},
	} {
		got, err := Pictures(c.preset, c.method)
		if err != nil {
			t.Fatal(err)
		}
		q := got.Quantizer
		if image := got.Model.Image; image.Linear != (c.preset == "default") || image.Linear != (image.Up == "nearest") {
			t.Errorf("%s of %s: %+v", c.preset, c.method, image)
		}
		if q.Radius.Kind != c.kind || q.Loss.Codebook != c.codebook || got.Train.Rates.Codes != c.codes ||
			q.Entropy.Weight != c.entropy || got.Model.Image.Size != 256 {
			t.Errorf("%s of %s: %+v, rates %+v, entropy %+v", c.preset, c.method, got.Quantizer.Radius, got.Train.Rates, got.Quantizer.Entropy)
		}
	}
}
