package vqtrain

import (
	"fmt"
	"path"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// accumulates says whether gradients are collected at the cached codebooks and
// sent through the transform once a refresh.
func (t *Trainer) accumulates() bool {
	c := t.config.Quantizer.Cache
	return c.Period > 1 && c.Gradient == "accumulate"
}

// listCached lists the cached codebooks whose gradient is collected, and the
// parameters behind them.
func (t *Trainer) listCached() error {
	t.deferred, t.accumulators = nil, nil
	if !t.accumulates() {
		return nil
	}
	set, err := t.bank.Read(vq.Prefix)
	for _, p := range set.Paths() {
		p = vq.Prefix + "/" + p
		if path.Base(p) == "cache" {
			t.accumulators = append(t.accumulators, p)
		} else if t.role(p) == train.Deferred {
			t.deferred = append(t.deferred, p)
		}
	}
	return err
}

// cacheDue says whether C' must be rebuilt before this step.
func (t *Trainer) cacheDue(step int) bool {
	period := t.config.Quantizer.Cache.Period
	return period > 1 && (step-t.warmup())%period == 0
}

// refreshCache rebuilds the cached codebooks and, with advance, first steps the
// codebook's parameters by the gradients a period collected.
func (t *Trainer) refreshCache(advance bool) error {
	pace := t.loop.Pace(max(1, t.loop.Updates()/t.config.Quantizer.Cache.Period), true)
	out, err := t.loop.Call(fmt.Sprintf("refresh %v", advance), pace, nil,
		func(v weights.Vars, pace *graph.Node, _ []*graph.Node) (map[string]*graph.Node, []*graph.Node) {
			next, drift := t.refreshStep(v, pace, advance)
			return next, []*graph.Node{drift}
		})
	if err != nil {
		return fmt.Errorf("refreshing the codebook: %w", err)
	}
	drift, err := weights.FromTensors(out)
	if err == nil {
		t.state.Drift = train.Finite(float64(drift[0].Data[0]))
	}
	return err
}

// look returns the values of nodes; build changes no variables.
func (t *Trainer) look(name string, build func(v weights.Vars, in []*graph.Node) []*graph.Node,
	inputs ...*tensors.Tensor) ([]*weights.Array, error) {
	values, err := t.loop.Call(name, t.loop.Pace(1, true), inputs,
		func(v weights.Vars, _ *graph.Node, in []*graph.Node) (map[string]*graph.Node, []*graph.Node) {
			return nil, build(v, in)
		})
	if err != nil {
		return nil, err
	}
	return weights.FromTensors(values)
}

// currentResiduals returns the inputs [N,d'] of every slot for a batch.
func (t *Trainer) currentResiduals(x *tensors.Tensor) ([]*weights.Array, error) {
	return t.look("residuals", func(v weights.Vars, in []*graph.Node) []*graph.Node {
		return t.model.Pass(&vq.Context{Vars: v}, in[0]).Quantized.Residuals
	}, x)
}

// currentBooks returns the usable codes of every slot.
func (t *Trainer) currentBooks() ([]*weights.Array, error) {
	return t.look("books", func(v weights.Vars, _ []*graph.Node) []*graph.Node {
		return t.model.Quantizer.Codebooks(&vq.Context{Vars: v.In(vq.Prefix)})
	})
}
