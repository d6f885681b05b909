package vq

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/gomlx/compute/dtypes"

	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// Residual stacks codebooks: level l codes what levels 0..l-1 left over. One
// surrogate covers the sum of all levels; a surrogate a level, over detached
// residuals, would scale the encoder's gradient by the number of levels.
type Residual struct {
	config    Config
	dim       int
	book      level
	estimator estimator
	chooses   bool
	// independent levels code z, not what the levels before left over.
	independent bool
	classical   fitter
}

func newResidual(c Config, dim int) *Residual {
	c.Transform.Joint = c.Learn != "frozen" // one setting decides who moves the codes
	m := methods[c.Method]
	q := &Residual{config: c, dim: dim, book: codebook{config: c, dim: dim}, estimator: straightThrough{}, chooses: m.chooses,
		independent: m.independent, classical: m.classical}
	if m.level != nil {
		q.book = m.level(c, dim)
	}
	if m.estimator != nil {
		q.estimator = m.estimator(c)
	}
	return q
}

// level returns the context of level l's variables.
func (q *Residual) level(ctx *Context, l int) *Context {
	return ctx.in("%s", q.levelPath(l))
}

func (q *Residual) levelPath(l int) string {
	if q.config.Shared {
		l = 0
	}
	return levelName(l)
}

func levelName(l int) string { return fmt.Sprintf("level%d", l) }

// books is the number of distinct codebooks.
func (q *Residual) books() int {
	if q.config.Shared {
		return 1
	}
	return q.config.Levels
}

// Init implements [Quantizer]: level by level, codes are placed on what the
// levels before leave of the sample.
func (q *Residual) Init(sample Sample, rng *rand.Rand) (weights.Set, error) {
	if sample.Dim != q.dim {
		return nil, fmt.Errorf("the start sample has dimension %d, the quantizer %d", sample.Dim, q.dim)
	}
	if q.classical != nil {
		f := &fitting{ctx: context.Background(), iterations: classicalIterations}
		return q.classical(f, q.config, sample, rng)
	}
	set := q.estimator.start(q.dim)
	rest := Sample{Rows: append([]float32(nil), sample.Rows...), N: sample.N, Dim: sample.Dim}
	if q.config.Transform.RowNorm == "latent" {
		rest.normalise()
	}
	for l := range q.books() {
		book := q.book
		if g, ok := book.(graded); ok {
			book = g.at(l)
		}
		vars, usable, err := book.start(rest, rng)
		if err != nil {
			return nil, fmt.Errorf("starting level %d: %w", l, err)
		}
		set.Merge(q.levelPath(l), vars)
		if l == q.books()-1 {
			break
		}
		if err := rest.subtractNearest(usable); err != nil {
			return nil, fmt.Errorf("starting level %d: %w", l, err)
		}
	}
	return set, nil
}

// Prepare implements [Quantizer]. Half-precision latents become float32, the
// type codes are stored, compared and learned in.
func (q *Residual) Prepare(z *Node) *Node {
	if t := z.DType(); t == dtypes.BFloat16 || t == dtypes.Float16 {
		z = ConvertDType(z, dtypes.Float32)
	}
	if q.config.Transform.RowNorm == "latent" {
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
	var first *Node
	indices := make([]*Node, q.config.Levels)
	for l := range q.config.Levels {
		level := q.level(ctx, l)
		a := q.book.assign(level, residual)
		if ctx.Training {
			mergeUpdates(out.Updates, q.gate(ctx, l, a.updates))
		}
		if ctx.Active != nil {
			on := Reshape(Slice(ctx.Active, AxisRange(l, l+1)))
			a.hard, a.loss = Mul(a.hard, on), Mul(a.loss, on)
			if a.soft != nil {
				a.soft = Mul(a.soft, on)
			}
		}
		out.Residuals = append(out.Residuals, residual)
		indices[l] = ExpandAxes(a.index, -1)
		if l == 0 {
			first, out.Hard, out.Soft, out.Loss = a.index, a.hard, a.soft, a.loss
		} else {
			out.Hard, out.Loss = Add(out.Hard, a.hard), Add(out.Loss, a.loss)
			if a.soft != nil {
				out.Soft = Add(out.Soft, a.soft)
			}
		}
		for name, value := range a.stats {
			addStat(out.Stats, name, value, 1/float64(q.config.Levels))
		}
		if a.soft != nil {
			// The surrogate stays attached: what it already passes on of z is
			// taken off the next level's share, so the levels' gradients add up
			// to one, not to their number.
			residual = Sub(residual, a.soft)
		} else {
			residual = Sub(residual, StopGradient(a.hard))
		}
		if q.independent {
			residual = z
		}
	}
	out.Index = Concatenate(indices, -1)
	if out.Soft == nil {
		out.Soft = q.estimator.connect(ctx, z, out.Hard, first)
		updates, stats := q.estimator.observe(ctx, z, out.Hard, first)
		if ctx.Training {
			mergeUpdates(out.Updates, updates)
		}
		for name, value := range stats {
			out.Stats[name] = value
		}
	}
	out.Soft = ConvertDType(out.Soft, precision)
	gap := StopGradient(Sub(z, out.Hard))
	out.Stats["gap"] = ctx.meanOver(Sqrt(ReduceSum(Square(gap), -1)))
	return out
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

// Codebooks implements [Quantizer].
func (q *Residual) Codebooks(ctx *Context) []*Node {
	books := make([]*Node, q.config.Levels)
	for l := range books {
		if l > 0 && q.config.Shared {
			books[l] = books[0]
			continue
		}
		books[l] = q.book.usable(q.level(ctx, l))
	}
	return books
}

// Lookup implements [Quantizer]: the sum of the levels' codes, in level order.
func (q *Residual) Lookup(ctx *Context, index *Node) *Node {
	var sum *Node
	for l, codes := range q.Codebooks(ctx) {
		at := Reshape(Slice(index, AxisRange(), AxisRange(l, l+1)), -1)
		row := Take(codes, at)
		if sum == nil {
			sum = row
		} else {
			sum = Add(sum, row)
		}
	}
	return sum
}

// Layout implements [Quantizer].
func (q *Residual) Layout() Layout {
	vocab := make([]int, q.config.Levels)
	for l := range vocab {
		vocab[l] = q.book.vocab()
	}
	return Layout{Dim: q.dim, Parts: 1, Levels: q.config.Levels, Vocab: vocab}
}

// Searchable implements [Quantizer].
func (q *Residual) Searchable() bool { return !q.chooses }

// Frozen implements [Quantizer].
func (q *Residual) Frozen(group weights.Group) bool {
	return group == weights.Codes && q.config.Learn != "gradient"
}

// Refresh implements [Quantizer].
func (q *Residual) Refresh(ctx *Context) map[string]*Node {
	values := map[string]*Node{}
	for l := range q.books() {
		mergeUpdates(values, q.book.refresh(q.level(ctx, l)))
	}
	return values
}

// Project implements [Quantizer].
func (q *Residual) Project(ctx *Context, values map[string]*Node) {
	for l := range q.books() {
		q.book.project(q.level(ctx, l), values)
	}
}

// Rewire implements [Quantizer].
func (q *Residual) Rewire(set weights.Set) error {
	for l := range q.books() {
		vars := set.Sub(q.levelPath(l))
		if err := q.book.rewire(vars); err != nil {
			return fmt.Errorf("level %d: %w", l, err)
		}
		set.Merge(q.levelPath(l), vars)
	}
	return nil
}

// Place implements [Quantizer].
func (q *Residual) Place(set weights.Set, position int, rows []int, targets []float32, mode transform.PlaceMode) ([]Touched, error) {
	path := q.levelPath(position)
	touched, err := q.book.place(set.Sub(path), rows, targets, mode)
	if err != nil {
		return nil, fmt.Errorf("level %d: %w", position, err)
	}
	for i := range touched {
		touched[i].Path = path + "/" + touched[i].Path
	}
	return touched, nil
}
