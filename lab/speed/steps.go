package speed

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

func (b *bench) step(ctx context.Context) ([]Row, error) {
	return b.times(func() (map[string]any, error) { return b.peer(ctx, "torch_step.py") }, race{
		"training step, RQ-VAE 4 x 256, MLP 768-512-256-128-32, batch 1024, against PyTorch", "step_seconds", 0.7, func() (float64, error) {
			return stepTime(ctx, "synthetic:manifold?rows=16384&dim=768", 40, []string{"ste", "train.optimizer.name=adagrad",
				"model.hidden=[512,256,128]", "model.dim=32", "quantizer.levels=4", "quantizer.codes=256", "train.batch=1024"})
		}})
}

var scenarios = map[string][]string{
	"ste":           {"ste"},
	"grit-linear":   {"grit"},
	"grit-linear-8": {"grit", "quantizer.cache.period=" + strconv.Itoa(refreshPeriod), "quantizer.cache.gradient=accumulate"},
	"grit-topk":     {"grit", "quantizer.transform.kind=attention-topk"},
}

// refreshPeriod is the number of steps that are averaged: one of them rebuilds the cache of grit-linear-8.
const refreshPeriod = 8

const (
	scenarioSource = "synthetic:manifold?rows=32768&dim=512"
	turns          = 160 // steps a round
)

func configuration(name string) []string {
	own := scenarios[name]
	return append([]string{own[0], "quantizer.levels=1", "quantizer.codes=1024", "model.dim=64", "model.hidden=[512,256,128]",
		"train.batch=1024"}, own[1:]...)
}

// Cost is the cost of a training scenario.
type Cost struct {
	Step   float64 `json:"step"`   // median seconds a step
	Memory int64   `json:"memory"` // peak resident bytes of the process; 0: unknown
}

func vectorStep(ctx context.Context, name string) (Cost, error) {
	if scenarios[name] == nil {
		known := append(slices.Sorted(maps.Keys(scenarios)), slices.Sorted(maps.Keys(pictureScenarios))...)
		return Cost{}, fmt.Errorf("unknown scenario %q, use %s or %s", name, strings.Join(known, ", "), nearestScenario)
	}
	step, err := stepTime(ctx, scenarioSource, turns, configuration(name))
	var kib int64 // stays 0 where the system does not tell
	_, _ = fmt.Sscanf(table.SystemField("/proc/self/status", "VmHWM"), "%d kB", &kib)
	return Cost{step, kib << 10}, err
}

func (b *bench) overhead(ctx context.Context) ([]Row, error) {
	names := slices.Sorted(maps.Keys(scenarios))
	memory, configurations := map[string]int64{}, make([][]string, len(names))
	for i, name := range names {
		out, err := exec.CommandContext(ctx, b.Scenario[0], append(b.Scenario[1:], name)...).Output()
		if err != nil {
			return nil, fmt.Errorf("scenario %s: %w", name, err)
		}
		var c Cost
		if err := json.Unmarshal(out, &c); err != nil {
			return nil, err
		}
		memory[name], configurations[i] = c.Memory, configuration(name)
	}
	all, err := inTurns(ctx, scenarioSource, turns*b.Rounds, configurations...)
	if err != nil {
		return nil, err
	}
	times := map[string][]float64{}
	for i, name := range names { // the first fifth is warm-up, the last steps overlap with the end of other runs
		times[name] = periodMeans(all[i][len(all[i])/5:len(all[i])-refreshPeriod], refreshPeriod)
	}
	const linear, limit = "grit-linear", 1.04
	ratio := float64(memory[linear]) / float64(memory["ste"])
	return []Row{
		paired("step, GRIT linear against STE (K 1024, d 64, batch 1024)", times[linear], times["ste"], 1.06),
		paired("step, GRIT top-k attention against STE", times["grit-topk"], times["ste"], 1.12),
		paired("step, GRIT linear with T = 8 against T = 1", times["grit-linear-8"], times[linear], 1),
		{Name: "peak memory, " + linear + " against ste", Ours: mebibytes(memory[linear]), Peer: mebibytes(memory["ste"]),
			Ratio: ratio, Claim: fmt.Sprintf("<= %gx", limit), Holds: ratio <= limit},
	}, nil
}

// periodMeans averages over whole refresh periods and drops the rest.
func periodMeans(times []float64, period int) []float64 {
	var out []float64
	for chunk := range slices.Chunk(times, period) {
		if len(chunk) == period {
			sum := 0.0
			for _, t := range chunk {
				sum += t
			}
			out = append(out, sum/float64(period))
		}
	}
	return out
}

// pictureScenarios are steps of the paper's network at 256 px, for a GPU, beside torch_pictures.py; see results/gpu.md.
var pictureScenarios = map[string][]string{
	"pictures-ste":            {"ste"},
	"pictures-ema":            {"ema"},
	"pictures-grit-linear":    {"grit"},
	"pictures-grit-attention": {"grit", "quantizer.transform.kind=attention-topk"},
	"pictures-ste-nearest":    {"ste", "model.image.up=nearest"},
}

const nearestScenario = "nearest-gpu"

// Step runs a scenario and returns its cost. Backend, steps and settings apply to picture scenarios only.
func Step(ctx context.Context, name, backendName string, steps int, set []string) (any, error) {
	if pictureScenarios[name] == nil && name != nearestScenario {
		return vectorStep(ctx, name)
	}
	backend, err := engine.Open(backendName)
	if err != nil {
		return nil, err
	}
	if name == nearestScenario {
		return nearestOnDevice(backend)
	}
	scenario := pictureScenarios[name]
	c, err := vqtrain.Pictures("default", scenario[0])
	if err != nil {
		return nil, err
	}
	c.Model.Image.Precision = "bf16"
	c.Train.Average = 0
	c.Quantizer.Start = vq.Start{From: "data"}
	if err := bare(&c, steps, append(scenario[1:], set...)); err != nil {
		return nil, err
	}
	var stamps []time.Time
	data := fmt.Sprintf("synthetic:scenes?images=%d&size=%d", max(256, c.Train.Batch), c.Model.Image.Size)
	t, err := prepare(ctx, backend, data, c, func() { stamps = append(stamps, time.Now()) })
	if err != nil {
		return nil, err
	}
	defer t.close()
	begun := time.Now()
	if _, err := t.Run(ctx); err != nil {
		return nil, err
	}
	var times []float64
	total := 0.0
	for i := len(stamps) / 3; i+1 < len(stamps); i++ { // the first third is warm-up
		times = append(times, stamps[i+1].Sub(stamps[i]).Seconds())
		total += times[len(times)-1]
	}
	slices.Sort(times)
	return map[string]any{"scenario": name, "set": set, "step_seconds": times[len(times)/2], "best_seconds": times[len(times)/10],
		"mean_seconds": total / float64(len(times)), "first_step_seconds": stamps[0].Sub(begun).Seconds()}, nil
}

func nearestOnDevice(backend compute.Backend) (map[string]any, error) {
	const n, k, d = 16384, 65536, 256
	exec, err := graph.NewExec(backend, func(z, codes *graph.Node) *graph.Node { return graph.ReduceAllSum(vq.Nearest(z, codes)) })
	if err != nil {
		return nil, err
	}
	rng := weights.Rand(1, "nearest")
	var inputs []any
	for _, rows := range []int{n, k} {
		a := weights.Normal(rng, 1, rows, d)
		t := tensors.FromFlatDataAndDimensions(a.Data, a.Shape...)
		if err := t.MaterializeOnDevice(backend, false, 0); err != nil {
			return nil, err
		}
		inputs = append(inputs, t)
	}
	var times []float64
	for range 30 {
		begun := time.Now()
		out, err := exec.Call(inputs...)
		if err != nil {
			return nil, err
		}
		if _, err := tensors.CopyFlatData[int32](out[0]); err != nil {
			return nil, err
		}
		times = append(times, time.Since(begun).Seconds())
	}
	slices.Sort(times)
	return map[string]any{"scenario": "nearest", "seconds": times[len(times)/2], "best": times[0]}, nil
}
