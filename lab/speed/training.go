package speed

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// training is a run that is ready to start.
type training struct {
	*vqtrain.Trainer
	source  vqtrain.Source
	closers []func()
}

func (t *training) close() {
	for _, f := range slices.Backward(t.closers) {
		f()
	}
}

// prepare makes a run of a method with some settings on vectors ready, without
// evaluation, logging, resets or checkpoints in between; step is called after each
// step.
func prepare(ctx context.Context, source, method string, steps int, step func(), set ...string) (_ *training, err error) {
	t := &training{}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	c, err := vqtrain.Default(method)
	if err != nil {
		return nil, err
	}
	quiet(&c, steps)
	c.Quantizer.Start.Warmup, c.Quantizer.Resets.Every = 0, 0
	for _, s := range set {
		if err := config.Set(&c, s); err != nil {
			return nil, err
		}
	}
	v, err := vectors.Open(ctx, source, vectors.Options{})
	if err != nil {
		return nil, err
	}
	t.closers = append(t.closers, func() { v.Close() })
	stats, err := v.Scan(ctx, nil)
	if err != nil {
		return nil, err
	}
	backend, err := engine.Open(engine.Embedded)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "gritvq-bench")
	if err != nil {
		return nil, err
	}
	t.closers = append(t.closers, func() { os.RemoveAll(dir) })
	t.source = vqtrain.Source{Set: v, HeldSet: v, Train: dataset.All(v.Len()), Mean: stats.Mean, Variance: stats.Variance}
	t.Trainer, err = vqtrain.New(backend, c, t.source, stats.Fingerprint, dir, false, vqtrain.Observer{Step: func(vqtrain.Record) { step() }})
	if err != nil {
		return nil, err
	}
	t.closers = append(t.closers, func() { t.Trainer.Close() })
	return t, nil
}

// quiet leaves nothing but steps in a run.
func quiet(c *vqtrain.Config, steps int) {
	c.Train.Steps, c.Train.Evaluate, c.Train.Log, c.Train.Checkpoint = steps, 0, 1<<30, 1<<30
}

// inTurns trains several configurations side by side, one step of each after the
// other, so that all see the same machine, and returns the times of their steps. A
// configuration is a method and its settings.
func inTurns(ctx context.Context, source string, steps int, configurations ...[]string) ([][]float64, error) {
	n := len(configurations)
	times, turn := make([][]float64, n), make([]chan struct{}, n)
	for i := range turn {
		turn[i] = make(chan struct{}, 1)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, n)
	await := func(i int) {
		select {
		case <-turn[i]:
		case <-ctx.Done(): // another one failed
		}
	}
	begun := make([]time.Time, n)
	list := make([]*training, n)
	for i, c := range configurations {
		t, err := prepare(ctx, source, c[0], steps, func() {
			times[i] = append(times[i], time.Since(begun[i]).Seconds())
			turn[(i+1)%n] <- struct{}{}
			if len(times[i]) < steps {
				await(i)
			}
			begun[i] = time.Now()
		}, c[1:]...)
		if err != nil {
			return nil, err
		}
		defer t.close()
		list[i] = t
	}
	for i, t := range list {
		go func() {
			await(i)
			begun[i] = time.Now()
			_, err := t.Run(ctx)
			if err != nil {
				cancel()
			}
			ended <- err
		}()
	}
	turn[0] <- struct{}{}
	var failure error
	for range n {
		failure = cmp.Or(failure, <-ended)
	}
	return times, failure
}

// stepTime is the median time of a step; the first fifth of the steps is warm-up.
func stepTime(ctx context.Context, source string, steps int, configuration []string) (float64, error) {
	times, err := inTurns(ctx, source, steps, configuration)
	if err != nil {
		return 0, err
	}
	return median(times[0][steps/5:]), nil
}

// median is the mean of the middle two of an even number.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// paired is a row of times that were measured side by side: the ratio is the median
// of the ratios, so that a machine that slows down for a while slows both.
func paired(name string, ours, peer []float64, limit float64) Row {
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = ours[i] / peer[i]
	}
	r := atMost(name, median(ours), median(peer), limit)
	r.Ratio = median(ratios)
	r.Holds = r.Ratio <= limit
	return r
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20)) }
