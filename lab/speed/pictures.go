package speed

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// pictureScenarios are steps of the paper's network at 256 px, for a GPU, beside torch_pictures.py; see results/gpu.md.
var pictureScenarios = map[string][]string{
	"pictures-ste":            {"ste"},
	"pictures-ema":            {"ema"},
	"pictures-grit-linear":    {"grit"},
	"pictures-grit-attention": {"grit", "quantizer.transform.kind=attention-topk"},
	"pictures-ste-nearest":    {"ste", "model.image.up=nearest"},
}

const nearestScenario = "nearest-gpu"

// Step runs a scenario and returns its cost. Backend, steps and settings are those of picture scenarios.
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

// nearestOnDevice times the nearest of 65,536 codes for 16,384 latents of 256 dimensions.
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
