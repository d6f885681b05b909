package vq

import (
	"fmt"
	"math/rand/v2"

	"github.com/gomlx/compute/dtypes"

	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// Residual stacks codebooks: level l codes the error of levels 0..l-1. One
// surrogate covers the sum of all levels; one for each level would scale the
// encoder's gradient by the number of levels.
type Residual struct {
	stack
	method    Method
	estimator Estimator
	codes     []*weights.Array // first codes of every codebook; nil: placed on latents
}

func newResidual(c Config, dim int) *Residual {
	c.Transform.Joint = c.Learn != "frozen" // one setting decides who moves the codes
	m := methods[c.Method]
	var level Level = codebook{position{c, dim}}
	switch {
	case m.Level != nil:
		level = m.Level(c, dim)
	case c.Transform.Conditional():
		level = newConditional(c, dim)
	}
	q := &Residual{method: m, estimator: straightThrough{}}
	if m.Estimator != nil {
		q.estimator = m.Estimator(c)
	}
	q.stack = stack{config: c, levels: []Level{level},
		layout: Layout{Dim: dim, Parts: 1, Levels: c.Levels, Shared: c.Shared}}
	for range c.Levels {
		q.layout.Vocab = append(q.layout.Vocab, level.Vocab())
	}
	return q
}

// Init implements [Quantizer]: codes are placed on the residuals of the levels before.
func (q *Residual) Init(sample Latents, rng *rand.Rand) (weights.Set, error) {
	if sample.Dim != q.layout.Dim {
		return nil, fmt.Errorf("the start sample has dimension %d, the quantizer %d", sample.Dim, q.layout.Dim)
	}
	if q.method.Classical != nil {
		f := &Fitting{ctx: sample.context(), iterations: classicalIterations}
		return q.method.Classical(f, q.config, sample, rng)
	}
	set := weights.Set{}
	if e, ok := q.estimator.(EstimatorStarter); ok {
		set = e.Start(q.layout.Dim)
	}
	books := q.codes
	if books == nil && q.config.StartsClassical() {
		c := q.config
		c.Parts = 1 // of one part
		var err error
		if books, err = FitStart(sample.context(), c, sample, FitOptions{Seed: rng.Uint64()}); err != nil {
			return nil, err
		}
	}
	if books != nil {
		return q.startGiven(set, books, sample, rng)
	}
	rest := sample.clone()
	if q.config.Normalized() {
		rest.normalise()
	}
	last := len(q.layout.Books()) - 1
	for l := range last + 1 {
		level, path := q.at(l)
		vars, usable, err := level.Start(rest, rng)
		if err != nil {
			return nil, fmt.Errorf("starting level %d: %w", l, err)
		}
		set.Merge(path, vars)
		if l == last {
			break
		}
		if err := rest.subtractNearest(usable); err != nil {
			return nil, fmt.Errorf("starting level %d: %w", l, err)
		}
	}
	return set, nil
}

// Prepare implements [Preparer]. Half-precision latents become float32, the type
// codes are stored, compared and learned in.
func (q *Residual) Prepare(z *Node) *Node {
	if t := z.DType(); t == dtypes.BFloat16 || t == dtypes.Float16 {
		z = ConvertDType(z, dtypes.Float32)
	}
	if q.config.Transform.RowNorm == transform.RowNormLatent {
		return L2Normalize(z, -1)
	}
	return z
}

// Build implements [Quantizer].
func (q *Residual) Build(ctx *Context, z *Node) Output {
	precision := z.DType() // of the model around the quantizer
	z = q.Prepare(z)
	out := Output{Updates: map[string]*Node{}, Stats: map[string]*Node{}}
	residual := z
	if ctx.Shift != nil {
		residual, out.Hard = Sub(z, StopGradient(ctx.Shift)), ctx.Shift
	}
	indices := make([]*Node, q.config.Levels)
	for l := range q.config.Levels {
		level, path := q.at(l)
		at := ctx.in(path)
		at.Given, at.Sent = ctx.given(l, l+1), out.Hard
		a := level.Assign(at, residual)
		if ctx.Training {
			mergeUpdates(out.Updates, q.gate(ctx, l, a.Updates))
		}
		var on *Node
		if ctx.Active != nil {
			on = Reshape(Slice(ctx.Active, AxisRange(l, l+1)))
			a.Hard, a.Loss = Mul(a.Hard, on), Mul(a.Loss, on)
			if a.Soft != nil {
				a.Soft = Mul(a.Soft, on)
			}
		}
		out.Residuals = append(out.Residuals, ctx.innovation(residual))
		indices[l] = ExpandAxes(a.Index, -1)
		out.Hard, out.Loss, out.Soft = plus(out.Hard, a.Hard), plus(out.Loss, a.Loss), plus(out.Soft, a.Soft)
		out.Loss = plus(out.Loss, q.levelLoss(ctx, l, z, residual, out.Hard, on))
		for name, value := range a.Stats {
			out.Stats[name] = plus(out.Stats[name], MulScalar(value, 1/float64(q.config.Levels)))
		}
		if a.Soft != nil {
			// The surrogate stays attached: its share of z's gradient is subtracted
			// from the next level's, so that the levels' gradients add up to one.
			residual = Sub(residual, a.Soft)
		} else {
			residual = Sub(residual, StopGradient(a.Hard))
		}
		if q.method.Independent {
			residual = z
		}
	}
	out.Index = Concatenate(indices, -1)
	var k *Node
	if out.Soft == nil {
		k = q.connect(ctx, z, &out)
	}
	gap := StopGradient(Sub(out.Hard, z))
	out.Surrogates = []Surrogate{{Value: out.Soft, Gap: gap, K: k, Mask: ctx.Mask}}
	out.Soft = ConvertDType(out.Soft, precision)
	out.Stats["gap"] = ctx.MeanOver(Sqrt(ReduceSum(Square(gap), -1)))
	return out
}

// connect sets Soft to the surrogate of latents z [N,d] and returns its factor k [N], if
// it has one.
func (q *Residual) connect(ctx *Context, z *Node, out *Output) (k *Node) {
	out.Soft = q.estimator.Connect(ctx, z, out.Hard, out.Index)
	o, ok := q.estimator.(EstimatorObserver)
	if !ok {
		return nil
	}
	updates, k := o.Observe(ctx, z, out.Hard, out.Index)
	if ctx.Training {
		mergeUpdates(out.Updates, updates)
	}
	if k != nil {
		out.Stats["k"] = ctx.MeanOver(k)
	}
	return k
}

// gate keeps the running averages of a dropped level.
func (q *Residual) gate(ctx *Context, l int, updates map[string]*Node) map[string]*Node {
	if ctx.Active == nil {
		return updates
	}
	on := Reshape(Slice(ctx.Active, AxisRange(l, l+1)))
	for path, value := range updates {
		old := ctx.Vars.Get(path[len(ctx.Vars.Path("")):])
		updates[path] = Add(old, Mul(on, Sub(value, old)))
	}
	return updates
}
