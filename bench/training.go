package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/data"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/fit"
)

// measured is one training scenario's cost.
type measured struct {
	Step   float64 `json:"step"`   // median seconds a step
	Best   float64 `json:"best"`   // fastest tenth
	Memory int64   `json:"memory"` // peak resident bytes of the process
}

// train runs steps of a configuration on structured random vectors and times
// them, without evaluation, logging, resets or checkpoints in between.
func train(source, method string, steps int, set ...string) (measured, error) {
	c, err := fit.Default(method)
	if err != nil {
		return measured{}, err
	}
	c.Train.Steps, c.Train.Evaluate, c.Train.Log, c.Train.Save = steps, 0, 1<<30, 1<<30
	c.Quantizer.Start.Warmup, c.Quantizer.Resets.Every = 0, 0
	for _, s := range set {
		if err := config.Set(&c, s); err != nil {
			return measured{}, err
		}
	}
	ctx := context.Background()
	vectors, err := data.Open(ctx, source, data.Options{})
	if err != nil {
		return measured{}, err
	}
	defer vectors.Close()
	stats, err := vectors.Scan(ctx, nil)
	if err != nil {
		return measured{}, err
	}
	dir, err := os.MkdirTemp("", "gritvq-bench")
	if err != nil {
		return measured{}, err
	}
	defer os.RemoveAll(dir)
	backend, err := engine.Open(engine.Embedded)
	if err != nil {
		return measured{}, err
	}
	var stamps []time.Time
	trainer, err := fit.New(backend, c, fit.Source{Vectors: vectors, HeldVectors: vectors, Train: data.All(vectors.Len()),
		Mean: stats.Mean, Variance: stats.Variance}, stats.Fingerprint, dir, false,
		fit.Observer{Step: func(fit.Record) { stamps = append(stamps, time.Now()) }})
	if err != nil {
		return measured{}, err
	}
	defer trainer.Close()
	if _, err := trainer.Run(ctx); err != nil {
		return measured{}, err
	}
	var times []float64
	for i := len(stamps) / 5; i+1 < len(stamps); i++ { // the first fifth warms up
		times = append(times, stamps[i+1].Sub(stamps[i]).Seconds())
	}
	if period := c.Quantizer.Cache.Period; period > 1 {
		times = periodMeans(times, period) // a refresh is part of the cost
	}
	slices.Sort(times)
	return measured{Step: times[len(times)/2], Best: times[len(times)/10], Memory: peakMemory()}, nil
}

// periodMeans averages over whole refresh periods.
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

// scenarios are trained in processes of their own, so that peak memory is each
// one's.
var scenarios = map[string][]string{
	"ste":           {"ste"},
	"grit-linear":   {"grit"},
	"grit-linear-8": {"grit", "quantizer.cache.period=8", "quantizer.cache.gradient=accumulate"},
	"grit-topk":     {"grit", "quantizer.transform.kind=attention-topk"},
}

func runChild(name string) error {
	scenario, ok := scenarios[name]
	if !ok {
		return fmt.Errorf("unknown scenario %q", name)
	}
	set := append([]string{"quantizer.levels=1", "quantizer.codes=1024", "model.dim=64", "model.hidden=[512,256,128]", "train.batch=1024"}, scenario[1:]...)
	m, err := train("synthetic:manifold?rows=32768&dim=512", scenario[0], 120, set...)
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
	best := map[string]measured{}
	names := []string{"ste", "grit-linear", "grit-linear-8", "grit-topk"}
	for range rounds {
		for _, name := range names {
			out, err := exec.CommandContext(ctx, self, "-child", name).Output()
			if err != nil {
				return nil, fmt.Errorf("scenario %s: %w", name, err)
			}
			var m measured
			if err := json.Unmarshal(out, &m); err != nil {
				return nil, err
			}
			b, seen := best[name]
			if !seen {
				b = m
			}
			best[name] = measured{Step: min(b.Step, m.Step), Best: min(b.Best, m.Best), Memory: min(b.Memory, m.Memory)}
		}
	}
	ste := best["ste"]
	memory := func(name string, limit float64) row {
		ratio := float64(best[name].Memory) / float64(ste.Memory)
		return row{Name: "peak memory, " + name + " against ste", Ours: mebibytes(best[name].Memory), Peer: mebibytes(ste.Memory),
			Ratio: ratio, Claim: fmt.Sprintf("<= %gx", limit), Holds: ratio <= limit}
	}
	return []row{
		atMost("step, GRIT linear against STE (K 1024, d 64, batch 1024)", best["grit-linear"].Step, ste.Step, 1.06),
		atMost("step, GRIT top-k attention against STE", best["grit-topk"].Step, ste.Step, 1.12),
		atMost("step, GRIT linear with T = 8 against T = 1", best["grit-linear-8"].Step, best["grit-linear"].Step, 1),
		memory("grit-linear", 1.04),
	}, nil
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20)) }
