package vqtrain

import (
	"slices"
	"testing"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/internal/processor"
	"github.com/gritvq/gritvq/tokenizer"
)

// BenchmarkPictureStep reports the processor time of a training step of 64 px pictures: of the network alone, the multiple of it
// that the linear path makes, and multiples of the latter: with two phases, and with networks over 2 and 4 phases. Steps take
// turns, and medians count, so that other load on the machine cancels.
func BenchmarkPictureStep(b *testing.B) {
	steps := contextSteps
	defer func() { contextSteps = steps }()
	contextSteps = 1
	source := pictures64(b)
	shapes := []struct {
		name          string
		linear        bool
		phases, width int
		beside        int // shape that it is compared with
	}{
		{"network", false, 0, 0, 0}, {"linear", true, 0, 0, 0}, {"phases-2", true, 2, 0, 1},
		{"context-2", true, 2, 128, 1}, {"context-4", true, 4, 128, 1},
	}
	const compiling = 3 // first steps
	trainers, times := make([]*Trainer, len(shapes)), make([][]float64, len(shapes))
	for i, shape := range shapes {
		c := small(b, "grit")
		c.Model.Image = tokenizer.Image{Size: 64, Widths: []int{32, 64, 96, 128}, Blocks: 1, Up: "nearest", Precision: "f32"}
		c.Model.Image.Linear = shape.linear
		c.Model.Dim, c.Quantizer.Codes, c.Train.Batch = 64, 512, 16
		c.Quantizer.Transform.Context, c.Quantizer.Transform.ContextWidth = shape.phases, shape.width
		c.Train.Steps, c.Train.Evaluate, c.Train.Log, c.Quantizer.Resets.Every = 1000, 0, 1000, 0
		trainers[i] = start(b, c, source, b.TempDir(), false, Observer{})
	}
	step := func(number int, measured bool) {
		for i, trainer := range trainers {
			begun := processor.Time()
			inputs, err := trainer.batch(int64(number))
			if err == nil {
				err = trainer.loop.Advance(b.Context(), inputs)
			}
			if err != nil {
				b.Fatal(err)
			}
			if measured {
				times[i] = append(times[i], processor.Time()-begun)
			}
		}
	}
	for number := range compiling {
		step(number, false)
	}
	number := compiling
	for b.Loop() {
		step(number, true)
		number++
	}
	medians := make([]float64, len(shapes))
	for i, shape := range shapes {
		slices.Sort(times[i])
		medians[i] = times[i][len(times[i])/2]
		b.ReportMetric(medians[i]/medians[shape.beside], shape.name+"-times")
	}
	b.ReportMetric(medians[0], "network-cpu-s")
}

func pictures64(b *testing.B) Source {
	set, err := images.Open(b.Context(), "synthetic:scenes?images=80&size=64", images.Options{Size: 64})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { set.Close() })
	s := Source{Set: set, HeldSet: set}
	s.Train, s.Held = dataset.Split(set.Len(), 0.2, 1)
	return s
}
