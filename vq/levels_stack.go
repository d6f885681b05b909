package vq

import (
	"fmt"
	"math/rand/v2"

	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// conditional is a [codebook] whose vectors depend on those sent by the levels before
// it. Its usable codes C' are what the condition starts from.
type conditional struct {
	codebook
	condition condition
}

func newConditional(c Config, dim int) conditional {
	level := conditional{codebook: codebook{position{c, dim}}, condition: affineCodes{}}
	if c.Transform.Levels == transform.LevelsImplicit {
		level.condition = implicitCodes{blocks: c.Transform.Blocks, candidates: c.Transform.Candidates, concat: methods[c.Method].Concat}
	}
	return level
}

// At implements [Graded]: the first level has nothing to depend on.
func (l conditional) At(depth int) Level {
	if depth == 0 {
		return l.codebook
	}
	return l
}

func (l conditional) Start(rest Latents, rng *rand.Rand) (weights.Set, *weights.Array, error) {
	vars, usable, err := l.codebook.Start(rest, rng)
	if err != nil {
		return nil, nil, err
	}
	return vars.Merge("", l.startCondition(usable, rng)), usable, nil
}

func (l conditional) init(codes *weights.Array, counts []int, gain float64, rng *rand.Rand) (weights.Set, error) {
	vars, err := l.codebook.init(codes, counts, gain, rng)
	if err != nil {
		return nil, err
	}
	return vars.Merge("", l.startCondition(l.usable(vars), rng)), nil
}

// Assign takes the code whose vector is nearest to the residual, given the vectors
// sent: of all codes, or of those that a shortlist proposes.
func (l conditional) Assign(ctx *Context, residual *Node) Assigned {
	if ctx.Sent == nil {
		panic(fmt.Errorf("codes that depend on earlier levels were asked for without any"))
	}
	t := l.table(ctx)
	var index *Node
	if ctx.Given != nil {
		index = Reshape(ctx.Given, -1)
	} else {
		index = l.condition.choose(ctx, residual, t.search, ctx.Sent)
	}
	codes := t.rows(index)
	thinned := *ctx
	thinned.drop = l.config.Transform.HiddenDrop
	hard := l.condition.vectors(&thinned, codes, ctx.Sent)
	a := l.assigned(ctx, residual, l.condition.innovation(ctx, residual, codes, hard, ctx.Sent), codes, hard, index)
	if shortlist := ctx.Vars.Find(shortlistPath); shortlist != nil {
		gap := Sub(Take(shortlist, index), StopGradient(residual))
		a.Loss = Add(a.Loss, MulScalar(ctx.relative(gap, residual), shortlistWeight))
	}
	return a
}

// shortlistWeight is the weight of the shortlist's loss, |S_k - sg r|² relative to |r|².
const shortlistWeight = 0.1

// relative is the mean square of x [N,d] relative to that of y [N,d], which receives no
// gradient.
func (c *Context) relative(x, y *Node) *Node {
	return Div(c.MeanSquare(x), MaxScalar(StopGradient(c.MeanSquare(y)), 1e-12))
}

// Place moves usable codes C' onto targets, whatever the condition makes of them, and
// the shortlist's rows with them.
func (l conditional) Place(set weights.Set, rows []int, targets []float32) ([]Touched, error) {
	touched, err := l.codebook.Place(set, rows, targets)
	shortlist, ok := set[shortlistPath]
	if err != nil || !ok {
		return touched, err
	}
	for i, row := range rows {
		copy(shortlist.Row(row), targets[i*l.dim:(i+1)*l.dim])
		touched = append(touched, touch(row, shortlistPath)...)
	}
	return touched, nil
}
