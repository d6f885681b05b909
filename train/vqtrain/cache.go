package vqtrain

import (
	"fmt"
	"path"

	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
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
	set, err := t.loop.Bank().Read(vq.Prefix)
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

// accumulated returns the cached codebooks whose gradient is collected between
// refreshes.
func (t *Trainer) accumulated(v weights.Vars) []*Node { return nodes(v, t.accumulators) }

func nodes(v weights.Vars, paths []string) []*Node {
	list := make([]*Node, len(paths))
	for i, p := range paths {
		list[i] = v.Get(p)
	}
	return list
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
		*exec = model.MustNewExec(t.backend, t.bank.Store(), func(_ *model.Scope, scalars *Node) *Node {
			v := t.bank.Vars(scalars.Graph())
			t.bank.Assign(t.refreshStep(v, scalars, advance))
			return Slice(scalars, AxisRange(0, 1))
		})
	}
	pace := t.loop.Pace(max(1, t.loop.Updates()/t.config.Quantizer.Cache.Period))
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

// refreshStep rebuilds the cache. With advance it first sends the gradients of
// C' that a whole period collected through the transform and takes one optimizer
// step on the codebook's parameters.
func (t *Trainer) refreshStep(v weights.Vars, scalars *Node, advance bool) map[string]*Node {
	p := t.loop.ReadPace(scalars)
	ctx := &vq.Context{Vars: v.In(vq.Prefix), Training: true, Progress: p.Progress}
	next := map[string]*Node{}
	if advance {
		books := vq.Refresh(t.model.Quantizer, ctx) // before the step, with gradients
		loss := ScalarZero(scalars.Graph(), scalars.DType())
		for _, path := range t.accumulators {
			collected := MulScalar(v.Get(path+"_gradient"), 1/float64(t.config.Quantizer.Cache.Period))
			loss = Add(loss, ReduceAllSum(Mul(books[path], StopGradient(collected))))
			next[path+"_gradient"] = ZerosLike(collected)
		}
		gradients := Gradient(loss, nodes(v, t.deferred)...)
		total := ScalarZero(scalars.Graph(), scalars.DType())
		for _, gradient := range gradients {
			total = Add(total, ReduceAllSum(Square(gradient)))
		}
		finite := IsFinite(total)
		p.Keep, p.Scale = ConvertDType(finite, scalars.DType()), OnesLike(total)
		t.loop.Optimize(v, next, t.deferred, gradients, finite, p)
		t.project(ctx, v, next, finite)
		stepped := weights.NewVars(func(path string) *Node {
			if n, ok := next[path]; ok {
				return n
			}
			return v.Find(path)
		})
		ctx = &vq.Context{Vars: stepped.In(vq.Prefix), Training: true, Progress: p.Progress}
	}
	for path, value := range vq.Refresh(t.model.Quantizer, ctx) {
		next[path] = StopGradient(value)
	}
	return next
}
