package fit

import (
	"fmt"
	"math"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// pace computes the scalar input of an optimizer step, the updates-th of its
// parameters.
func (t *Trainer) pace(updates int) *tensors.Tensor {
	o, step, taken := t.config.Train.Optimizer, t.state.Step, float64(updates)
	rate := o.Rate * t.config.Train.Schedule.At(step, t.config.Train.Steps)
	values := []float32{
		float32(1 - math.Pow(o.Beta1, taken)), float32(1 - math.Pow(o.Beta2, taken)),
		float32(float64(step) / float64(t.config.Train.Steps)), float32(t.config.Train.ClipNorm),
	}
	for _, g := range weights.Groups {
		values = append(values, float32(rate*t.config.Train.Rates.rate(g)))
	}
	return tensors.FromFlatDataAndDimensions(values, len(values))
}

// call runs a step and reads its scalars and, if wanted, its codes.
func (t *Trainer) call(exec *model.Exec, x *tensors.Tensor, codes *[]int32, more ...any) ([]float32, error) {
	pace := t.pace(t.state.Step - t.state.Since + 1)
	defer pace.FinalizeAll()
	out, err := exec.Call(append([]any{x, pace}, more...)...)
	if err != nil {
		return nil, fmt.Errorf("step %d: %w", t.state.Step+1, err)
	}
	defer func() {
		for _, o := range out {
			o.FinalizeAll()
		}
	}()
	report, err := tensors.CopyFlatData[float32](out[0])
	if err != nil {
		return nil, err
	}
	if codes != nil {
		if *codes, err = tensors.CopyFlatData[int32](out[1]); err != nil {
			return nil, err
		}
	}
	return report, nil
}

func (t *Trainer) trainExec() *model.Exec {
	if t.train == nil {
		t.train = model.MustNewExec(t.backend, t.store, func(_ *model.Scope, in []*graph.Node) []*graph.Node {
			v := weights.FromStore(t.store, in[0].Graph())
			next, report, index := t.trainStep(v, t.model.Pass, t.parameters, in[0], in[1], in[2], in[3])
			weights.Assign(t.store, next)
			return []*graph.Node{report, index}
		})
	}
	return t.train
}

func (t *Trainer) warmExec() *model.Exec {
	if t.warm == nil {
		t.warm = model.MustNewExec(t.backend, t.store, func(_ *model.Scope, in []*graph.Node) []*graph.Node {
			v := weights.FromStore(t.store, in[0].Graph())
			unquantized := func(ctx *vq.Context, x *graph.Node) tokenizer.Pass { return t.model.Unquantized(ctx.Vars, x) }
			next, report, _ := t.trainStep(v, unquantized, t.parameters, in[0], in[1], nil, nil)
			weights.Assign(t.store, next)
			return []*graph.Node{report}
		})
	}
	return t.warm
}

// warmup is the number of steps before codes are placed: none when there is no
// network to warm up.
func (t *Trainer) warmup() int {
	if t.model.Identity() {
		return 0
	}
	return int(t.config.Quantizer.Start.Warmup * float64(t.config.Train.Steps))
}

// cacheDue says whether C' must be rebuilt before this step.
func (t *Trainer) cacheDue(step int) bool {
	period := t.config.Quantizer.Cache.Period
	return period > 1 && (step-t.warmup())%period == 0
}

// refreshCache rebuilds the cached codebooks and, with advance, first steps the
// codebook's parameters by the gradients a period collected.
func (t *Trainer) refreshCache(advance bool) error {
	exec := &t.refresh
	if advance {
		exec = &t.advance
	}
	if *exec == nil {
		*exec = model.MustNewExec(t.backend, t.store, func(_ *model.Scope, scalars *graph.Node) *graph.Node {
			v := weights.FromStore(t.store, scalars.Graph())
			weights.Assign(t.store, t.refreshStep(v, scalars, advance))
			return graph.Slice(scalars, graph.AxisRange(0, 1))
		})
	}
	pace := t.pace(max(1, (t.state.Step-t.state.Since)/t.config.Quantizer.Cache.Period))
	defer pace.FinalizeAll()
	out, err := (*exec).Call(pace)
	if err != nil {
		return fmt.Errorf("refreshing the codebook: %w", err)
	}
	for _, o := range out {
		o.FinalizeAll()
	}
	return nil
}

// activeLevels draws how many levels a step uses under quantizer dropout.
func (t *Trainer) activeLevels(step int) int {
	q := t.config.Quantizer
	if q.Dropout == 0 || q.Levels == 1 {
		return q.Levels
	}
	rng := weights.Rand(t.config.Seed, fmt.Sprintf("dropout %d", step))
	if rng.Float64() >= q.Dropout {
		return q.Levels
	}
	return 1 + rng.IntN(q.Levels)
}

func (t *Trainer) activeMask(levels int) *tensors.Tensor {
	mask := make([]float32, t.config.Quantizer.Levels)
	for l := range levels {
		mask[l] = 1
	}
	return tensors.FromFlatDataAndDimensions(mask, len(mask))
}
