package vqtrain

import (
	"fmt"
	"path"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
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
	t.dropExecutors()
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
	exec := &t.refresh
	if advance {
		exec = &t.advance
	}
	if *exec == nil {
		*exec = model.MustNewExec(t.backend, t.bank.Store(), func(_ *model.Scope, scalars *graph.Node) *graph.Node {
			v := t.bank.Vars(scalars.Graph())
			t.bank.Assign(t.refreshStep(v, scalars, advance))
			return graph.Slice(scalars, graph.AxisRange(0, 1))
		})
	}
	pace := t.loop.Pace(max(1, t.loop.Updates()/t.config.Quantizer.Cache.Period), true)
	defer pace.FinalizeAll()
	out, err := (*exec).Call(pace)
	if err != nil {
		return fmt.Errorf("refreshing the codebook: %w", err)
	}
	out[0].FinalizeAll()
	return nil
}
