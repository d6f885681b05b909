package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// The picture group is meant for a GPU: gritvq's own step of the paper's network
// at 256 px on the backend named by -backend, beside bench/torch_pictures.py,
// which a script runs in the same session; see results/gpu.md.
var pictureScenarios = map[string][]string{
	"pictures-ste":            {"ste"},
	"pictures-ema":            {"ema"},
	"pictures-grit-linear":    {"grit"},
	"pictures-grit-attention": {"grit", "quantizer.transform.kind=attention-topk"},
	"pictures-ste-nearest":    {"ste", "model.image.up=nearest"},
}

// pictureChild runs one scenario and prints what it cost.
func pictureChild(name, backendName string, steps int, set []string) error {
	backend, err := engine.Open(cmp.Or(backendName, engine.Embedded))
	if err != nil {
		return err
	}
	if name == "nearest-gpu" {
		return nearestChild(backend)
	}
	scenario := pictureScenarios[name]
	c, err := vqtrain.Pictures("default", scenario[0])
	if err != nil {
		return err
	}
	c.Model.Image.Precision = "bf16"
	c.Train.Steps, c.Train.Evaluate, c.Train.Log, c.Train.Checkpoint, c.Train.Average = steps, 0, 1<<30, 1<<30, 0
	c.Quantizer.Start = vq.Start{From: "data"}
	c.Quantizer.Resets.Every = 0
	for _, s := range append(scenario[1:], set...) {
		if err := config.Set(&c, s); err != nil {
			return err
		}
	}
	ctx := context.Background()
	pictures, err := images.Open(ctx, fmt.Sprintf("synthetic:scenes?images=%d&size=%d", max(256, c.Train.Batch), c.Model.Image.Size), images.Options{Size: c.Model.Image.Size})
	if err != nil {
		return err
	}
	defer pictures.Close()
	dir, err := os.MkdirTemp("", "gritvq-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var stamps []time.Time
	begun := time.Now()
	trainer, err := vqtrain.New(backend, c, vqtrain.Source{Images: pictures, HeldImages: pictures, Train: dataset.All(pictures.Len())}, "scenes", dir, false,
		vqtrain.Observer{Step: func(vqtrain.Record) { stamps = append(stamps, time.Now()) }})
	if err != nil {
		return err
	}
	defer trainer.Close()
	if _, err := trainer.Run(ctx); err != nil {
		return err
	}
	var times []float64
	for i := len(stamps) / 3; i+1 < len(stamps); i++ {
		times = append(times, stamps[i+1].Sub(stamps[i]).Seconds())
	}
	slices.Sort(times)
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"scenario": name, "set": set, "step_seconds": times[len(times)/2], "best_seconds": times[len(times)/10], "mean_seconds": mean(times),
		"first_step_seconds": stamps[0].Sub(begun).Seconds(),
	})
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// nearestChild times the nearest of 65,536 codes for 16,384 latents of 256
// dimensions.
func nearestChild(backend compute.Backend) error {
	const n, k, d = 16384, 65536, 256
	rng := weights.Rand(1, "nearest")
	z, codes := weights.Normal(rng, 1, n, d), weights.Normal(rng, 1, k, d)
	exec, err := graph.NewExec(backend, func(z, codes *graph.Node) *graph.Node { return graph.ReduceAllSum(vq.Nearest(z, codes)) })
	if err != nil {
		return err
	}
	tensor := func(a *weights.Array) (*tensors.Tensor, error) {
		t := tensors.FromFlatDataAndDimensions(a.Data, a.Shape...)
		return t, t.MaterializeOnDevice(backend, false, 0)
	}
	latents, err := tensor(z)
	if err != nil {
		return err
	}
	book, err := tensor(codes)
	if err != nil {
		return err
	}
	var times []float64
	for range 30 {
		begun := time.Now()
		out, err := exec.Call(latents, book)
		if err != nil {
			return err
		}
		if _, err := tensors.CopyFlatData[int32](out[0]); err != nil {
			return err
		}
		times = append(times, time.Since(begun).Seconds())
	}
	slices.Sort(times)
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"scenario": "nearest", "seconds": times[len(times)/2], "best": times[0]})
}
