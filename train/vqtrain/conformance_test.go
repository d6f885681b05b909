package vqtrain

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
)

// every visits all registered methods, so that a new one is covered at once.
func every(t *testing.T, visit func(t *testing.T, method string)) {
	for _, method := range vq.MethodNames() {
		t.Run(method, func(t *testing.T) { visit(t, method) })
	}
}

// learner is a short run on the mixture: a small network, and one level with a
// code for every component.
func learner(t testing.TB, method string) Config {
	t.Helper()
	c, err := Default(method)
	if err != nil {
		t.Fatal(err)
	}
	c.Quantizer.Codes, c.Quantizer.Levels, c.Quantizer.Parts = vectors.MixtureComponents, 1, 1
	if vq.Classical(method) {
		return c
	}
	c.Model.Dim, c.Model.Hidden = 8, []int{32}
	c.Quantizer.Start = vq.Start{From: "data"}
	if c.Quantizer.Resets.Every > 0 {
		c.Quantizer.Resets.Every, c.Quantizer.Resets.Window = 10, 4
	}
	c.Quantizer.Average.Decay = 0.9
	c.Train.Steps, c.Train.Batch, c.Train.Evaluate, c.Train.Log, c.Train.Checkpoint = 500, 256, 0, 50, 1000
	c.Train.Optimizer.Rate, c.Train.Schedule.Warmup = 0.01, 10
	return c
}

// learned bounds the held-out error of a learner, as a share of the variance,
// which is the error of the best single code. The noise around the centres is
// 0.0023 of it, and every component that has to do with a neighbour's code adds
// about 0.01. Codes start on random rows, which miss a third of the components,
// and resets or the network find most of those: methods with stored codes were
// seen to end between 0.04 and 0.12.
func learned(method string) float64 {
	switch method {
	case "kmeans", "pq", "opq", "rq":
		return 0.006 // k-means misses at most one component
	case "sf-diveq":
		return 0.2 // codes serve the lines between them as well, seen at 0.14
	case "simvq":
		return 0.3 // one linear map moves all codes together
	case "lfq":
		return 0.3 // vertices of a cube: the network must sort components by 6 signs
	case "fsq":
		return 0.5 // points of a plane grid, 6 bits in two coordinates
	case "lsh":
		return 0.45 // nothing is learned but the means of random cells
	}
	return 0.15
}

// From random rows and an untrained network, every method reaches a fraction of
// the error of the best single code, and a small part of its error before
// training.
func TestConformanceOfLearning(t *testing.T) {
	source := open(t, "synthetic:mixture?rows=4000&dim=8")
	baseline := mean(source.Variance)
	every(t, func(t *testing.T, method string) {
		trainer := start(t, learner(t, method), source, t.TempDir(), false, Observer{})
		before := baseline
		if !vq.Classical(method) {
			if err := trainer.start(t.Context()); err != nil {
				t.Fatal(err)
			}
			before = score(t, trainer, read(t, trainer), source.Held).MSE
		}
		after := score(t, trainer, run(t, trainer), source.Held).MSE
		t.Logf("error %.4f of the variance, %.2f before", after/baseline, before/baseline)
		if !(after < learned(method)*baseline) || !(after < 0.5*before) {
			t.Errorf("error %.4f of the variance, want %g; %.4f before training", after/baseline, learned(method), before/baseline)
		}
	})
}

// lively is a short run with all that leaves state between steps and that the
// method has: dropout, resets, averages, evaluation, a network with a warm-up.
func lively(t testing.TB, method string) Config {
	t.Helper()
	if vq.Classical(method) {
		c := tiny(t, method)
		c.Quantizer.Start.Warmup = 0
		return c
	}
	c := everything(t, method)
	c.Quantizer.Codes = 16
	if method == "fsq" {
		c.Quantizer.Grid = []int{5, 4} // 20 codes, independent of Codes
	}
	if own, _ := vq.Defaults(method); own.Resets.Every == 0 {
		c.Quantizer.Resets.Every = 0
	}
	c.Train.Steps = 20
	return c
}

// A run that was interrupted after 9 of 20 steps, saved, loaded and resumed ends
// as one that was not: the same variables and the same log, bit for bit. What is
// fitted at once gives the same codes again.
func TestConformanceOfResume(t *testing.T) {
	source := open(t, tinySet)
	every(t, func(t *testing.T, method string) {
		c, straight, dir := lively(t, method), t.TempDir(), t.TempDir()
		uninterrupted := start(t, c, source, straight, false, Observer{})
		want := run(t, uninterrupted)
		if !vq.Classical(method) {
			if c.Quantizer.Resets.Every > 0 && uninterrupted.state.Resets == 0 {
				t.Error("the run reset no code, so resuming resets is untested")
			}
			ctx, cancel := context.WithCancel(t.Context())
			trainer := start(t, c, source, dir, true, Observer{Step: func(r Record) {
				if r.Step == 9 {
					cancel()
				}
			}})
			if _, err := trainer.Run(ctx); !errors.Is(err, train.ErrInterrupted) || trainer.Step() != 9 {
				t.Fatalf("interrupted after step %d with %v", trainer.Step(), err)
			}
			trainer.Close()
		}
		resumed := start(t, c, source, dir, true, Observer{})
		if from := resumed.Step(); from != 9 && !vq.Classical(method) {
			t.Fatalf("resumed from step %d", from)
		}
		identical(t, run(t, resumed), want)
		var logs [2][]byte
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

// Utilization, perplexity and bits, in scores and in the log, count against the
// codes there are, not those that were asked for.
func TestConformanceOfUtilization(t *testing.T) {
	source := open(t, tinySet)
	every(t, func(t *testing.T, method string) {
		dir := t.TempDir()
		trainer := start(t, lively(t, method), source, dir, false, Observer{})
		set := run(t, trainer)
		vocab := trainer.Model().Quantizer.Layout().Vocab
		rows := dataset.All(40)
		books, err := tokenizer.Usable(trainer.backend, trainer.model, set)
		if err != nil {
			t.Fatal(err)
		}
		runtime, err := tokenizer.NewRuntime(trainer.backend, trainer.model, set, books)
		if err != nil {
			t.Fatal(err)
		}
		defer runtime.Close()
		at := make([]int, rows.Len())
		for i := range at {
			at[i] = rows.At(i)
		}
		x, _, err := source.Set.Read(at)
		if err != nil {
			t.Fatal(err)
		}
		codes, err := runtime.Encode(t.Context(), x, tokenizer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		scores := score(t, trainer, set, rows)
		bits := 0.0
		for position, k := range vocab {
			if codes := books[position].Shape[0]; codes != k {
				t.Errorf("position %d has %d codes and a vocabulary of %d", position, codes, k)
			}
			used := map[uint32]bool{}
			for i := position; i < len(codes); i += len(vocab) {
				used[codes[i]] = true
			}
			if got, want := scores.Utilization.Levels[position], float64(len(used))/float64(k); math.Abs(got-want) > 1e-12 {
				t.Errorf("position %d: utilization %g, %d of %d codes are used", position, got, len(used), k)
			}
			bits += math.Log2(float64(k))
		}
		if math.Abs(scores.BitsPerVector-bits) > 1e-9 {
			t.Errorf("%g bits a vector, want %g", scores.BitsPerVector, bits)
		}
		if method == "fsq" && !slices.Equal(vocab, []int{20, 20}) {
			t.Errorf("vocabulary %v of a 5 x 4 grid", vocab)
		}
		if vq.Classical(method) {
			return // takes no steps whose choices could be logged
		}
		records, err := ReadLog(filepath.Join(dir, "log.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		logged := records[len(records)-1].Levels
		if logged == nil {
			t.Fatal("the log ends without utilization")
		}
		for position, share := range logged.Utilization {
			if used := share * float64(vocab[position]); used < 1 || math.Abs(used-math.Round(used)) > 1e-9 {
				t.Errorf("position %d: the log says %g of the codes are used, %g of %d", position, share, used, vocab[position])
			}
		}
	})
}
