package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// measured is one training scenario's cost.
type measured struct {
	Step   float64 `json:"step"`   // median seconds a step
	Memory int64   `json:"memory"` // peak resident bytes of the process
}

// training is a run that is ready to start.
type training struct {
	*vqtrain.Trainer
	closers []func()
}

func (t *training) close() {
	for _, f := range slices.Backward(t.closers) {
		f()
	}
}

// prepare makes ready steps of a configuration on structured random vectors,
// without evaluation, logging, resets or checkpoints in between; step is called
// after each.
func prepare(source, method string, steps int, step func(), set ...string) (_ *training, err error) {
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
	c.Train.Steps, c.Train.Evaluate, c.Train.Log, c.Train.Checkpoint = steps, 0, 1<<30, 1<<30
	c.Quantizer.Start.Warmup, c.Quantizer.Resets.Every = 0, 0
	for _, s := range set {
		if err := config.Set(&c, s); err != nil {
			return nil, err
		}
	}
	vectors, err := vectors.Open(context.Background(), source, vectors.Options{})
	if err != nil {
		return nil, err
	}
	t.closers = append(t.closers, func() { vectors.Close() })
	stats, err := vectors.Scan(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "gritvq-bench")
	if err != nil {
		return nil, err
	}
	t.closers = append(t.closers, func() { os.RemoveAll(dir) })
	backend, err := engine.Open(engine.Embedded)
	if err != nil {
		return nil, err
	}
	t.Trainer, err = vqtrain.New(backend, c, vqtrain.Source{Vectors: vectors, HeldVectors: vectors, Train: dataset.All(vectors.Len()),
		Mean: stats.Mean, Variance: stats.Variance}, stats.Fingerprint, dir, false, vqtrain.Observer{Step: func(vqtrain.Record) { step() }})
	if err != nil {
		return nil, err
	}
	t.closers = append(t.closers, func() { t.Trainer.Close() })
	return t, nil
}

// train times the steps of a configuration.
func train(source, method string, steps int, set ...string) (measured, error) {
	var stamps []time.Time
	t, err := prepare(source, method, steps, func() { stamps = append(stamps, time.Now()) }, set...)
	if err != nil {
		return measured{}, err
	}
	defer t.close()
	if _, err := t.Run(context.Background()); err != nil {
		return measured{}, err
	}
	var times []float64
	for i := len(stamps) / 5; i+1 < len(stamps); i++ { // the first fifth warms up
		times = append(times, stamps[i+1].Sub(stamps[i]).Seconds())
	}
	return measured{Step: median(times), Memory: peakMemory()}, nil
}

// inTurns trains several configurations side by side, one step of each after the
// other, so that all see the same machine, and returns the times of their steps.
func inTurns(ctx context.Context, source string, steps int, configurations [][]string) ([][]float64, error) {
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
		t, err := prepare(source, c[0], steps, func() {
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

// periodMeans averages over whole refresh periods, what is left over aside.
func periodMeans(times []float64, period int) []float64 {
	var out []float64
	for start := 0; start+period <= len(times); start += period {
		sum := 0.0
		for _, t := range times[start : start+period] {
			sum += t
		}
		out = append(out, sum/float64(period))
	}
	return out
}

// peakMemory is the process's high-water mark, in bytes (0 where unknown).
func peakMemory() int64 {
	content, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(content)) {
		var kib int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil {
			return kib << 10
		}
	}
	return 0
}

// stepRows compares one step of the 4 x 256 residual tokenizer with PyTorch.
func stepRows(ctx context.Context, p *peers, rounds int) ([]row, error) {
	best, peer := 0.0, 0.0
	for range rounds { // alternating, so that both see the same machine
		m, err := train("synthetic:manifold?rows=16384&dim=768", "ste", 40,
			"train.optimizer.name=adagrad", "model.hidden=[512,256,128]", "model.dim=32", "quantizer.levels=4", "quantizer.codes=256", "train.batch=1024")
		if err != nil {
			return nil, err
		}
		if best == 0 || m.Step < best {
			best = m.Step
		}
		delete(p.cache, "bench/torch_step.py")
		result, err := p.run(ctx, "bench/torch_step.py")
		if err != nil {
			return []row{{Name: "training step, RQ-VAE 4 x 256", Ours: seconds(best), Reason: err.Error()}}, nil
		}
		if s := result["step_seconds"].(float64); peer == 0 || s < peer {
			peer = s
		}
	}
	return []row{atMost("training step, RQ-VAE 4 x 256, MLP 768-512-256-128-32, batch 1024, against PyTorch", best, peer, 0.7)}, nil
}

// scenarios are trained in turns, and in processes of their own, so that peak
// memory is each one's.
var scenarios = map[string][]string{
	"ste":           {"ste"},
	"grit-linear":   {"grit"},
	"grit-linear-8": {"grit", "quantizer.cache.period=" + strconv.Itoa(refreshPeriod), "quantizer.cache.gradient=accumulate"},
	"grit-topk":     {"grit", "quantizer.transform.kind=attention-topk"},
}

// refreshPeriod is how many steps are averaged before they are compared: one of
// so many rebuilds the cache of grit-linear-8.
const refreshPeriod = 8

const (
	scenarioSource = "synthetic:manifold?rows=32768&dim=512"
	turns          = 160 // steps a round
)

// configuration is a scenario's method and settings.
func configuration(name string) []string {
	own := scenarios[name]
	return append([]string{own[0], "quantizer.levels=1", "quantizer.codes=1024", "model.dim=64", "model.hidden=[512,256,128]", "train.batch=1024"}, own[1:]...)
}

func runChild(name string) error {
	if scenarios[name] == nil {
		return fmt.Errorf("unknown scenario %q", name)
	}
	c := configuration(name)
	m, err := train(scenarioSource, c[0], turns, c[1:]...)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(m)
}

// overheadRows compares GRIT with STE: same network, same batch.
func overheadRows(ctx context.Context, _ *peers, rounds int) ([]row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(scenarios))
	memory, configurations := map[string]int64{}, make([][]string, len(names))
	for i, name := range names {
		out, err := exec.CommandContext(ctx, self, "-child", name).Output()
		if err != nil {
			return nil, fmt.Errorf("scenario %s: %w", name, err)
		}
		var m measured
		if err := json.Unmarshal(out, &m); err != nil {
			return nil, err
		}
		memory[name], configurations[i] = m.Memory, configuration(name)
	}
	all, err := inTurns(ctx, scenarioSource, turns*rounds, configurations)
	if err != nil {
		return nil, err
	}
	times := map[string][]float64{}
	for i, name := range names { // the first fifth warms up, the last steps overlap with what ends a run
		times[name] = periodMeans(all[i][len(all[i])/5:len(all[i])-refreshPeriod], refreshPeriod)
	}
	const linear, limit = "grit-linear", 1.04
	ratio := float64(memory[linear]) / float64(memory["ste"])
	return []row{
		paired("step, GRIT linear against STE (K 1024, d 64, batch 1024)", times[linear], times["ste"], 1.06),
		paired("step, GRIT top-k attention against STE", times["grit-topk"], times["ste"], 1.12),
		paired("step, GRIT linear with T = 8 against T = 1", times["grit-linear-8"], times[linear], 1),
		{Name: "peak memory, " + linear + " against ste", Ours: mebibytes(memory[linear]), Peer: mebibytes(memory["ste"]),
			Ratio: ratio, Claim: fmt.Sprintf("<= %gx", limit), Holds: ratio <= limit},
	}, nil
}

// paired is a row of times that were measured side by side: the ratio is the
// median of the ratios, so that a machine that slows down for a while slows both.
func paired(name string, ours, peer []float64, limit float64) row {
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = ours[i] / peer[i]
	}
	r := atMost(name, median(ours), median(peer), limit)
	r.Ratio = median(ratios)
	r.Holds = r.Ratio <= limit
	return r
}

// median is the mean of the middle two of an even number.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20)) }
