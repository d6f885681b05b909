package vqtrain

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// inPhases is a quick run of pictures with a context, with all that leaves state behind.
func inPhases(t testing.TB, method string, phases int) Config {
	c := small(t, method)
	c.Quantizer.Transform.Context, c.Quantizer.Transform.ContextWidth = phases, 8
	c.Quantizer.Resets = vq.Resets{Every: 6, Threshold: 0.5, Window: 1, Until: 1, Donor: c.Quantizer.Resets.Donor}
	c.Train.Steps, c.Train.Evaluate = 24, 8
	return c
}

// A run with a context that is stopped, before and after codes are placed, and resumed ends with the same weights; codes
// were reset on the way, and usage is by phase.
func TestContextResumes(t *testing.T) {
	source := scenes(t, "synthetic:scenes?images=40&size=20", nil)
	for name, c := range map[string]Config{"ema, 2 phases": inPhases(t, "ema", 2), "grit, 4 phases": inPhases(t, "grit", 4)} {
		t.Run(name, func(t *testing.T) {
			c.Quantizer.Levels, c.Quantizer.Dropout = 2, 0.3
			c.Quantizer.Start.Warmup, c.Model.Image.Linear = 0.2, false
			var last Record
			straight := start(t, c, source, t.TempDir(), false, Observer{Step: func(r Record) { last = r }})
			want := run(t, straight)
			if straight.state.Resets == 0 || last.Levels == nil || len(last.Levels.Utilization) != 2*c.Quantizer.Transform.Context {
				t.Errorf("%d resets, usage %+v", straight.state.Resets, last.Levels)
			}
			dir := t.TempDir()
			for _, stop := range []int{2, 13} {
				ctx, cancel := context.WithCancel(t.Context())
				stopped := start(t, c, source, dir, true, Observer{Step: func(r Record) {
					if r.Step == stop {
						cancel()
					}
				}})
				if _, err := stopped.Run(ctx); !errors.Is(err, train.ErrInterrupted) {
					t.Fatal(err)
				}
				stopped.Close()
			}
			identical(t, run(t, start(t, c, source, dir, true, Observer{})), want)
		})
	}
}

// Interrupting the fit of the context is an interruption of the run.
func TestContextFitIsInterrupted(t *testing.T) {
	source, c := scenes(t, "synthetic:scenes?images=40&size=20", nil), inPhases(t, "ema", 2)
	ctx, cancel := context.WithCancel(t.Context())
	trainer := start(t, c, source, t.TempDir(), false, Observer{Status: func(text string) {
		if text == "fitting the context" {
			cancel()
		}
	}})
	if _, err := trainer.Run(ctx); !errors.Is(err, train.ErrInterrupted) {
		t.Fatal(err)
	}
}

// The fit finds a mean that depends on the neighbours: latents whose later cells are the mean of the cells beside them
// leave almost no innovation, and latents without a relation keep theirs.
func TestContextIsFitted(t *testing.T) {
	source, c := scenes(t, "synthetic:scenes?images=40&size=20", nil), inPhases(t, "ste", 2)
	c.Quantizer.Transform.ContextWidth = 16
	trainer := start(t, c, source, t.TempDir(), false, Observer{})
	q := trainer.model.Quantizer.(*vq.Phased)
	const grids, side, dim = 300, 4, 4
	explained := map[bool]float64{}
	for _, related := range []bool{true, false} {
		rng := weights.Rand(5, "latents")
		z := vq.Latents{Rows: weights.Normal(rng, 1, grids*side*side, dim).Data, N: grids * side * side, Dim: dim}
		for i := range z.N {
			y, x := i/side%side, i%side
			if !related || (y+x)%2 == 0 {
				continue
			}
			var beside []int
			for _, step := range [][2]int{{-1, 0}, {1, 0}, {0, -1}, {0, 1}} {
				if yy, xx := y+step[0], x+step[1]; yy >= 0 && xx >= 0 && yy < side && xx < side {
					beside = append(beside, i+step[0]*side+step[1])
				}
			}
			for j := range dim {
				z.Row(i)[j] = 0
				for _, other := range beside {
					z.Row(i)[j] += z.Row(other)[j] / 2
				}
			}
		}
		before := slices.Clone(z.Rows)
		set, innovations, err := trainer.fitContext(t.Context(), q, z)
		if err != nil {
			t.Fatal(err)
		}
		if related {
			again, _, err := trainer.fitContext(t.Context(), q, z)
			if err != nil {
				t.Fatal(err)
			}
			identical(t, again, set)
		}
		if !slices.Equal(before, z.Rows) || innovations.N != z.N {
			t.Fatal("the fit changed its sample")
		}
		var left, all float64
		for i := range z.N {
			for j, v := range innovations.Row(i) {
				if (i/side+i)%2 == 0 && v != z.Row(i)[j] {
					t.Fatalf("row %d of the first phase is %v, was %v", i, v, z.Row(i)[j])
				}
				if (i/side+i)%2 == 1 {
					left, all = left+float64(v*v), all+math.Pow(float64(z.Row(i)[j]), 2)
				}
			}
		}
		explained[related] = 1 - left/all
	}
	if explained[true] < 0.8 || math.Abs(explained[false]) > 0.3 {
		t.Errorf("the context explains %v of the variance", fmt.Sprint(explained))
	}
}

// Pictures are learned with a context, and the export scores as the last evaluation.
func TestContextIsLearned(t *testing.T) {
	source := scenes(t, "synthetic:scenes?images=60&size=16", nil)
	for _, method := range []string{"grit", "ema", "simvq"} {
		c := inPhases(t, method, 2)
		c.Quantizer.Resets.Every = 0
		var held []HeldRecord
		trainer := start(t, c, source, t.TempDir(), false, Observer{Step: func(r Record) {
			if r.Held != nil {
				held = append(held, *r.Held)
			}
		}})
		set := run(t, trainer)
		if len(held) != 3 || min(held[0].PSNR, held[2].PSNR) < 17.5 {
			t.Fatalf("%s: %+v", method, held)
		}
		if _, _, err := trainer.evaluate(t.Context(), set); err != nil || trainer.record.Held.MSE != held[2].MSE {
			t.Errorf("%s: the export scores %+v (%v), the last evaluation %+v", method, trainer.record.Held, err, held[2])
		}
	}
}
