package vq

import (
	"fmt"
	"math/rand/v2"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// position is one code position with stored codes E "codes" [K,d] for residuals of dimension dim.
type position struct {
	config Config
	dim    int
}

func (p position) Vocab() int { return p.config.Codes }

func (p position) caches() bool      { return p.config.Cache.Period > 1 }
func (p position) accumulates() bool { return p.caches() && p.config.Cache.Gradient == "accumulate" }

// transformed is C' [K,d] from live parameters.
func (p position) transformed(ctx *Context) *Node {
	return p.config.Transform.Apply(ctx.Vars, ctx.Vars.Get(CodesPath))
}

// losses is the sum of the configured auxiliary losses. residual carries
// gradients to the encoder, hard to the codebook.
func (p position) losses(ctx *Context, residual, hard, index *Node) *Node {
	w := p.config.Loss
	loss := ScalarZero(residual.Graph(), residual.DType())
	if w.Codebook > 0 {
		loss = Add(loss, MulScalar(ctx.MeanSquare(Sub(hard, StopGradient(residual))), w.Codebook))
	}
	if w.Commitment > 0 {
		loss = Add(loss, MulScalar(ctx.MeanSquare(Sub(residual, StopGradient(hard))), w.Commitment))
	}
	if w.Usage > 0 {
		loss = Add(loss, MulScalar(p.underuse(ctx, residual, hard, index), w.Usage))
	}
	if w.AttentionEntropy > 0 {
		if entropy := p.config.Transform.Entropy(ctx.Vars, ctx.Vars.Get(CodesPath)); entropy != nil {
			loss = Add(loss, MulScalar(entropy, w.AttentionEntropy))
		}
	}
	return loss
}

// underuse is the paper's usage regulariser Σ max(0, τ - p) over codes, with
// τ = threshold/K. Hard counts have no gradient, so the value is theirs and the
// gradient that of the mean soft assignment softmax(-dist²/T), with T relative
// to the batch's mean squared gap.
func (p position) underuse(ctx *Context, residual, hard, index *Node) *Node {
	k := p.config.Codes
	counts, _ := ctx.countsAndSums(index, StopGradient(residual), k)
	used := MaxScalar(ReduceAllSum(counts), 1)
	share := Div(counts, used)

	gap := StopGradient(ctx.MeanOver(ReduceSum(Square(Sub(hard, residual)), -1)))
	temperature := MulScalar(MaxScalar(gap, 1e-12), p.config.Loss.UsageSoftness)
	scores := scores
	if ctx.Scale != nil {
		residual, scores = scaledQuery(residual, StopGradient(ctx.Scale)), scaledScores
	}
	nearness := func(latents *Node, codes []*Node, _ *Random) *Node {
		return Div(MulScalar(scores(latents, codes[0]), -2), temperature)
	}
	var codes *Node // those whose gradient is used this step
	if ctx.Training && p.accumulates() {
		codes = ctx.Vars.Get(cachePath)
	} else {
		codes = p.transformed(ctx)
	}
	soft := newChoice(nearness, residual, []*Node{codes}, nil).softmax(nil, ctx.shareOfRows(residual)).share

	threshold := p.config.Loss.UsageThreshold / float64(k)
	return ReduceAllSum(MaxScalar(AddScalar(Neg(Add(soft, StopGradient(Sub(share, soft)))), threshold), 0))
}

// codebook is a [position] with nearest-code search: the transform's variables
// beside the codes, running averages "state/counts" and "state/sums" when codes
// are averaged (counts alone when they are pulled), and "state/cache" when C' is
// reused between steps.
type codebook struct{ position }

func (b codebook) Start(rest Latents, rng *rand.Rand) (weights.Set, *weights.Array, error) {
	codes, counts, err := b.config.startCodes(rest, rng)
	if err != nil {
		return nil, nil, err
	}
	vars, err := b.init(codes, counts, max(rest.meanNorm(), 1e-3), rng)
	if err != nil {
		return nil, nil, err
	}
	return vars, b.usable(vars), nil
}

// usable is C' on the host: some transforms start away from the raw codes.
func (b codebook) usable(vars weights.Set) *weights.Array {
	codes := weights.New(vars[CodesPath].Shape...)
	for i, x := range b.config.Transform.Usable(vars, vars[CodesPath]) {
		codes.Data[i] = float32(x)
	}
	return codes
}

// init returns the variables for codes [K,d] that drew counts latents each.
func (b codebook) init(codes *weights.Array, counts []int, gain float64, rng *rand.Rand) (weights.Set, error) {
	set, err := b.config.Transform.Init(codes, gain, rng)
	if err != nil {
		return nil, err
	}
	set[CodesPath] = codes
	return set.Merge("", b.memory(codes, counts)), nil
}

// memory implements remembering.
func (b codebook) memory(codes *weights.Array, counts []int) weights.Set {
	set := weights.Set{}
	switch {
	case b.config.averages():
		set.Merge("", averageInit(codes, counts))
	case b.config.pull() > 0:
		set[countsPath] = averageInit(codes, counts)[countsPath]
	}
	if b.caches() {
		set[cachePath] = codes.Clone()
	}
	if b.accumulates() {
		set[cacheGradientPath] = weights.New(codes.Shape...)
	}
	return set
}

func (b codebook) Usable(ctx *Context) *Node { return b.transformed(ctx) }

// Assign takes the nearest usable code of each residual, gathered so that
// gradients reach the codebook's parameters.
func (b codebook) Assign(ctx *Context, residual *Node) Assigned {
	t := b.table(ctx)
	index := ctx.choose(residual, t.search)
	hard := ctx.scaled(t.rows(index))
	return b.assigned(ctx, residual, residual, hard, hard, index)
}

// assigned is the choice of codes [N,d] that stand for residuals [N,d] by the vectors
// hard [N,d]. Averages bring codes towards innovation [N,d], which is the residual
// unless hard differs from the codes.
func (b codebook) assigned(ctx *Context, residual, innovation, codes, hard, index *Node) Assigned {
	a := Assigned{Index: index, Hard: hard, Loss: b.losses(ctx, residual, hard, index)}
	switch {
	case !ctx.Training:
	case b.config.averages():
		a.Updates = b.average(ctx, innovation, index)
	case b.config.pull() > 0:
		a.Updates = b.pull(ctx, innovation, codes, index)
	}
	return a
}

// table is a codebook in use.
type table struct {
	search *Node                   // [K,d]: codes to choose from
	rows   func(index *Node) *Node // chosen codes [N,d], with gradients to the parameters
}

func (b codebook) table(ctx *Context) table {
	codes := ctx.Vars.Find(cachePath)
	if !ctx.Training || !b.caches() {
		codes = b.Usable(ctx)
	}
	t := table{search: codes, rows: func(index *Node) *Node { return Take(codes, index) }}
	if ctx.Training && b.caches() && !b.accumulates() {
		t.rows = func(index *Node) *Node { return b.config.Transform.Rows(ctx.Vars, ctx.Vars.Get(CodesPath), index) }
	}
	return t
}

// Refresh returns the new cache of C', with gradients to the parameters behind
// it: collected gradients reach them this way.
func (b codebook) Refresh(ctx *Context) map[string]*Node {
	if !b.caches() {
		return nil
	}
	return map[string]*Node{ctx.Vars.Path(cachePath): b.Usable(ctx)}
}

// Project keeps |W|₂ within the configured bound.
func (b codebook) Project(ctx *Context, values map[string]*Node) {
	if b.config.Transform.SpectralClip <= 0 {
		return
	}
	path := ctx.Vars.Path(FeatureMapPath)
	u := ctx.Vars.Find("state/feature_u")
	if w, ok := values[path]; ok && u != nil {
		values[path], values[ctx.Vars.Path("state/feature_u")] = b.config.Transform.ClippedFeature(w, u)
	}
}

func (b codebook) Rewire(vars weights.Set) error {
	return b.config.Transform.Refresh(vars, vars[CodesPath])
}

// Place moves codes onto targets; see [transform.Config.Place].
func (b codebook) Place(set weights.Set, rows []int, targets []float32) ([]Touched, error) {
	codes, ok := set[CodesPath]
	if !ok {
		return nil, fmt.Errorf("the codebook has no variable %q", CodesPath)
	}
	touched, err := b.config.Transform.Place(set, codes, rows, targets)
	if err != nil {
		return nil, err
	}
	restartAverages(set, rows, targets)
	if collected, ok := set[cacheGradientPath]; ok {
		for _, row := range rows {
			clear(collected.Row(row)) // it belonged to the code that was there
		}
	}
	return touched, nil
}
