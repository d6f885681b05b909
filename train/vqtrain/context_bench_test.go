package vqtrain

import (
	"fmt"
	"testing"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/internal/processor"
	"github.com/gritvq/gritvq/tokenizer"
)

// BenchmarkContextStep reports the processor time of a training step of 64 px pictures without a context, with phases
// alone, and with networks over 2 and 4 phases.
func BenchmarkContextStep(b *testing.B) {
	steps := contextSteps
	defer func() { contextSteps = steps }()
	contextSteps = 1
	source := pictures64(b)
	for _, shape := range [][2]int{{0, 0}, {2, 0}, {2, 128}, {4, 128}} { // phases, width
		b.Run(fmt.Sprintf("phases=%d,width=%d", shape[0], shape[1]), func(b *testing.B) {
			c := small(b, "grit")
			c.Model.Image = tokenizer.Image{Size: 64, Widths: []int{32, 64, 96, 128}, Blocks: 1, Up: "nearest", Linear: true, Precision: "f32"}
			c.Model.Dim, c.Quantizer.Codes, c.Train.Batch = 64, 512, 16
			c.Quantizer.Transform.Context, c.Quantizer.Transform.ContextWidth = shape[0], shape[1]
			c.Train.Steps, c.Train.Evaluate, c.Train.Log, c.Quantizer.Resets.Every = b.N+3, 0, 1000, 0
			trainer := start(b, c, source, b.TempDir(), false, Observer{})
			from := 0.0
			for step := range b.N + 3 { // the first compile
				inputs, err := trainer.batch(int64(step))
				if err == nil {
					err = trainer.loop.Advance(b.Context(), inputs)
				}
				if err != nil {
					b.Fatal(err)
				}
				if step == 2 {
					from = processor.Time()
					b.ResetTimer()
				}
			}
			b.ReportMetric((processor.Time()-from)/float64(b.N), "cpu-s/op")
		})
	}
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
