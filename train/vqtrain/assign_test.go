package vqtrain

import (
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/weights"
)

// Every method with a table of codes starts as method rq ends: codes and choices are
// the same to the bit, for stacks and for parts.
func TestStartIsTheClassicalFit(t *testing.T) {
	source := open(t, "synthetic:manifold?rows=2000")
	rows := tokenizer.Options{}
	for _, method := range []string{"grit", "ste", "ema", "nsvq", "diveq", "rotation"} {
		for _, parts := range []int{1, 2} {
			c, err := Default("rq")
			if err != nil {
				t.Fatal(err)
			}
			c.Quantizer.Codes, c.Quantizer.Levels, c.Quantizer.Parts = 16, 3, parts
			classical := start(t, c, source, t.TempDir(), false, Observer{})
			want := run(t, classical)
			beam, shrink := c.Quantizer.Beam, c.Quantizer.Start.Shrink

			c = tiny(t, method)
			c.Quantizer.Codes, c.Quantizer.Levels, c.Quantizer.Parts = 16, 3, parts
			c.Quantizer.Start.From, c.Quantizer.Start.Shrink, c.Quantizer.Beam = "rq", shrink, beam
			c.Quantizer.Transform.Rank = 4
			trainer := start(t, c, source, t.TempDir(), false, Observer{})
			if err := trainer.start(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := read(t, trainer)
			for path, codes := range want {
				if at := firstDifference(got[path].Data, codes.Data); at >= 0 {
					t.Errorf("%s, %d parts: element %d of %s is %g, of rq %g", method, parts, at, path, got[path].Data[at], codes.Data[at])
				}
			}
			var answers [2][]uint32
			for i, r := range []func() (*tokenizer.Runtime, error){
				func() (*tokenizer.Runtime, error) { return classical.Runtime(want) },
				func() (*tokenizer.Runtime, error) { return trainer.Runtime(got) },
			} {
				runtime, err := r()
				if err != nil {
					t.Fatal(err)
				}
				err = runtime.EncodeRows(t.Context(), source.Set, source.Held, rows, func(b tokenizer.Coded) error {
					answers[i] = append(answers[i], b.Codes...)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				runtime.Close()
			}
			if !slices.Equal(answers[0], answers[1]) {
				t.Errorf("%s, %d parts: held-out rows have other codes than those of rq", method, parts)
			}
		}
	}
}

// A step trains on the codes that the runtime finds with the same beam, and on the
// leading levels where the others are dropped.
func TestTrainingAssignsWithTheBeam(t *testing.T) {
	source := open(t, "synthetic:manifold?rows=1000")
	c := tiny(t, "grit")
	c.Quantizer.Codes, c.Quantizer.Levels, c.Quantizer.Parts, c.Quantizer.Beam = 16, 3, 2, 6
	c.Quantizer.Dropout, c.Train.Batch, c.Train.Accumulate, c.Train.Beam = 0.9, 64, 2, 0
	trainer := start(t, c, source, t.TempDir(), false, Observer{})
	levels, greedier := map[int]bool{}, 0
	for at := range 6 {
		if err := step(t, trainer, at); err != nil {
			t.Fatal(err)
		}
		if err := trainer.renew(read(t, trainer)); err != nil {
			t.Fatal(err)
		}
		batch := inputs(t, trainer, at+1)
		given, err := trainer.assign(at+1, batch)
		if err != nil || len(given) != 2 {
			t.Fatalf("%d parts, %v", len(given), err)
		}
		active := trainer.activeLevels(at + 1)
		levels[active] = true
		for part, codes := range given {
			x := tensors.MustCopyFlatData[float32](batch[part*batchInputs])
			z, err := trainer.look("latents", trainer.encoded, tensors.FromFlatDataAndDimensions(x, 32, len(x)/32))
			if err != nil {
				t.Fatal(err)
			}
			found := tensors.MustCopyFlatData[int32](codes)
			for width, same := range map[int]bool{6: true, 1: false} {
				o := tokenizer.Options{Levels: active, Beam: width}
				want, err := trainer.runtime.Assign(t.Context(), z[0].Data, trainer.model.Cells(32), o)
				if err != nil {
					t.Fatal(err)
				}
				equal := true
				for i, code := range want {
					row, position := i/(2*active), i%(2*active)
					equal = equal && found[row*6+position/active*3+position%active] == int32(code)
				}
				if same && !equal {
					t.Errorf("step %d, part %d: %d levels have other codes than the runtime's", at, part, active)
				}
				if !same && !equal {
					greedier++
				}
			}
		}
	}
	if len(levels) < 2 || greedier == 0 {
		t.Errorf("numbers of levels %v, %d batches differ from a greedy choice", levels, greedier)
	}
}

// Codes from outside that do not fit are refused.
func TestStartFromChecksShapes(t *testing.T) {
	trainer := start(t, tiny(t, "ste"), open(t, tinySet), t.TempDir(), false, Observer{})
	if err := trainer.StartFrom([]*weights.Array{weights.New(8, 8)}); err == nil {
		t.Error("one codebook for two levels was accepted")
	}
}
