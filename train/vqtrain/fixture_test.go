package vqtrain

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// open returns a built-in set divided into rows to train on and held-out rows.
func open(t testing.TB, path string) Source {
	t.Helper()
	vectors, err := vectors.Open(t.Context(), path, vectors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { vectors.Close() })
	stats, err := vectors.Scan(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := Source{Set: vectors, HeldSet: vectors, Mean: stats.Mean, Variance: stats.Variance}
	s.Train, s.Held = dataset.Split(vectors.Len(), 0.1, 1)
	return s
}

// tiny is a quick configuration: 8-d mixture vectors quantized as they are.
const tinySet = "synthetic:mixture?rows=600&dim=8"

func tiny(t testing.TB, method string) Config {
	t.Helper()
	c, err := Default(method)
	if err != nil {
		t.Fatal(err)
	}
	c.Model.Dim, c.Model.Hidden = 0, nil
	c.Quantizer.Codes, c.Quantizer.Levels = 8, 2
	c.Quantizer.Transform.Rank, c.Quantizer.Transform.TopK, c.Quantizer.Transform.Groups, c.Quantizer.Transform.ScoreDim = 4, 3, 2, 4
	c.Quantizer.Start = vq.Start{From: "data"}
	c.Quantizer.Resets.Every = 0
	c.Train.Steps, c.Train.Batch, c.Train.Evaluate, c.Train.Average = 40, 32, 0, 0
	c.Train.Log, c.Train.Checkpoint = 10, 1000
	return c
}

func start(t testing.TB, c Config, s Source, dir string, resume bool, o Observer) *Trainer {
	t.Helper()
	trainer, err := New(t.Context(), gradtest.Engine(t), c, s, Options{Dir: dir, Data: "data", Resume: resume, Watch: o})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { trainer.Close() })
	return trainer
}

func run(t testing.TB, trainer *Trainer) weights.Set {
	t.Helper()
	set, err := trainer.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// inputs returns the vectors and the mask of the given step, for every part.
func inputs(t testing.TB, trainer *Trainer, at int) []*tensors.Tensor {
	t.Helper()
	list, err := trainer.batch(int64(at))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// step trains on the batch of the given step.
func step(t testing.TB, trainer *Trainer, at int) error {
	t.Helper()
	return trainer.loop.Advance(context.Background(), inputs(t, trainer, at))
}

func read(t testing.TB, trainer *Trainer) weights.Set {
	t.Helper()
	set, err := trainer.bank.Read("")
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// identical fails on the first variable that is missing or differs in a bit.
func identical(t testing.TB, got, want weights.Set) {
	t.Helper()
	if err := want.Check(got); err != nil {
		t.Fatal(err)
	}
	for _, p := range want.Paths() {
		if at := firstDifference(got[p].Data, want[p].Data); at >= 0 {
			t.Errorf("%s: element %d is %v, want %v", p, at, got[p].Data[at], want[p].Data[at])
		}
	}
}

func firstDifference(a, b []float32) int {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return i
		}
	}
	return -1
}

func relative(got, want []float32) float64 {
	a, b := make([]float64, len(got)), make([]float64, len(want))
	for i := range got {
		a[i], b[i] = float64(got[i]), float64(want[i])
	}
	return gradtest.RelativeError(a, b)
}

func levelPath(l int, name string) string { return fmt.Sprintf("quantizer/level%d/%s", l, name) }

// tensorOf is the array moved by an offset.
func tensorOf(a *weights.Array, offset float32) *tensors.Tensor {
	moved := a.Clone()
	for i := range moved.Data {
		moved.Data[i] += offset
	}
	return tensors.FromFlatDataAndDimensions(moved.Data, moved.Shape...)
}
