package vqtrain

import (
	"cmp"
	"context"
	"fmt"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// The fit of a context network before codes are placed.
var (
	contextSteps = 200
	contextCells = 4096 // latents a step, in whole grids
)

// fitContext fits the network of a context to latents of whole grids. It returns the network's variables and the
// innovations that codes are placed on. The result depends on the latents and the seed alone.
func (t *Trainer) fitContext(ctx context.Context, q *vq.Phased, latents vq.Latents) (weights.Set, vq.Latents, error) {
	t.loop.Status("fitting the context")
	cells := t.model.Tokens() * latents.Dim // numbers of a grid
	grids := len(latents.Rows) / cells
	block := max(1, min(grids, contextCells/t.model.Tokens()))
	batch := func(rows []int) *tensors.Tensor {
		var z []float32
		for _, row := range rows {
			z = append(z, latents.Rows[row*cells:(row+1)*cells]...)
		}
		return tensors.FromFlatDataAndDimensions(z, len(z)/latents.Dim, latents.Dim)
	}
	seed := t.config.Seed
	problem := train.Problem{
		Init: func(context.Context) (weights.Set, error) { return q.StartContext(weights.Rand(seed, "context")), nil },
		Batch: func(step int64) ([]*tensors.Tensor, error) {
			return []*tensors.Tensor{batch(weights.Rand(seed, fmt.Sprintf("context %d", step)).Perm(grids)[:block])}, nil
		},
		Loss: func(v weights.Vars, inputs []*graph.Node, _ *graph.Node) *graph.Node {
			return q.ContextLoss(&vq.Context{Vars: v}, inputs[0])
		},
	}
	config := train.Config{
		Seed: seed,
		Loop: train.Loop{Steps: contextSteps, Batch: block, ClipNorm: 1, Log: contextSteps, Checkpoint: contextSteps,
			Schedule: optim.Schedule{Kind: "cosine", Warmup: 10}},
		Optimizer: optim.Optimizer{Name: "adam", Rate: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8},
	}
	fit, err := train.New(ctx, t.backend, problem, config, train.Options{})
	if err != nil {
		return nil, latents, err
	}
	defer fit.Close()
	fitted, err := fit.Run(ctx)
	if err != nil {
		return nil, latents, cmp.Or(ctx.Err(), err)
	}
	innovations := vq.Latents{N: latents.N, Dim: latents.Dim}
	for first := 0; first < grids; first += block {
		rows := make([]int, block) // the last block is filled up, so that there is one program
		for i := range rows {
			rows[i] = min(first+i, grids-1)
		}
		values, err := fit.Call("innovations", fit.Pace(1, true), []*tensors.Tensor{batch(rows)},
			func(v weights.Vars, _ *graph.Node, in []*graph.Node) (map[string]*graph.Node, []*graph.Node) {
				return nil, []*graph.Node{q.Innovations(&vq.Context{Vars: v}, in[0])}
			})
		if err != nil {
			return nil, latents, err
		}
		arrays, err := weights.FromTensors(values)
		if err != nil {
			return nil, latents, err
		}
		innovations.Rows = append(innovations.Rows, arrays[0].Data[:min(block, grids-first)*cells]...)
	}
	return fitted.Weights, innovations, nil
}
