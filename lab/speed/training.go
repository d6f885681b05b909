package speed

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/gomlx/compute"
	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/train/vqtrain"
)

type training struct {
	*vqtrain.Trainer
	data *tokenize.Data
	dir  string
}

func (t *training) close() {
	if t.Trainer != nil {
		t.Trainer.Close()
	}
	if t.data != nil {
		t.data.Close()
	}
	os.RemoveAll(t.dir)
}

// bare leaves nothing but steps in a run: no evaluation, logging, resets or checkpoints. Then it applies settings.
func bare(c *vqtrain.Config, steps int, set []string) error {
	c.Train.Steps, c.Train.Evaluate, c.Train.Log, c.Train.Checkpoint = steps, 0, 1<<30, 1<<30
	c.Train.Split, c.Quantizer.Resets.Every = 1, 0
	for _, s := range set {
		if err := config.Set(c, s); err != nil {
			return err
		}
	}
	return nil
}

func prepare(ctx context.Context, backend compute.Backend, data string, c vqtrain.Config, step func()) (*training, error) {
	dir, err := os.MkdirTemp("", "gritvq-bench")
	if err != nil {
		return nil, err
	}
	t := &training{dir: dir}
	if t.data, err = (tokenize.Input{Path: data, FixedPerceptual: true}).Open(ctx, &c, task.Silent{}); err == nil {
		watch := vqtrain.Observer{Step: func(vqtrain.Record) { step() }}
		t.Trainer, err = vqtrain.New(ctx, backend, c, t.data.Source, vqtrain.Options{Dir: dir, Data: t.data.Fingerprint, Watch: watch})
	}
	if err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func prepareVectors(ctx context.Context, data, method string, steps int, step func(), set ...string) (*training, error) {
	c, err := vqtrain.Default(method)
	if err != nil {
		return nil, err
	}
	c.Quantizer.Start.Warmup = 0
	if err := bare(&c, steps, set); err != nil {
		return nil, err
	}
	backend, err := engine.Open(engine.Embedded)
	if err != nil {
		return nil, err
	}
	return prepare(ctx, backend, data, c, step)
}

// inTurns trains several configurations, a method and its settings each, one step of each after the other, so
// that all see the same machine. It returns the times of their steps.
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
		t, err := prepareVectors(ctx, source, c[0], steps, func() {
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

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// paired is a row of times measured side by side: the ratio is the median of the ratios, so that a machine that
// slows down for a while slows both.
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
