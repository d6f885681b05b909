package vq

import (
	"fmt"
	"math/rand/v2"

	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// codebook is one code position: raw codes E "codes" [K,d], the transform's
// variables beside them, running averages "state/counts" and
// "state/sums" when codes are averaged (counts alone when they are pulled), and
// "state/cache" when C' is reused between steps.
type codebook struct {
	config Config
	dim    int
}

// Start implements [Level].
func (b codebook) Start(rest Latents, rng *rand.Rand) (weights.Set, *weights.Array, error) {
	codes, counts, err := b.config.startCodes(rest, rng)
	if err != nil {
		return nil, nil, err
	}
	vars, err := b.init(codes, counts, max(rest.meanNorm(), 1e-3), rng)
	if err != nil {
		return nil, nil, err
	}
	// Some transforms start away from the raw codes.
	usable := weights.New(codes.Shape...)
	for i, x := range b.config.Transform.Usable(vars, codes) {
		usable.Data[i] = float32(x)
	}
	return vars, usable, nil
}

func (b codebook) Vocab() int { return b.config.Codes }

// init returns the variables for codes [K,d] that drew counts latents each.
func (b codebook) init(codes *weights.Array, counts []int, gain float64, rng *rand.Rand) (weights.Set, error) {
	set, err := b.config.Transform.Init(codes, gain, rng)
	if err != nil {
		return nil, err
	}
	set[CodesPath] = codes
	switch {
	case b.config.Learn == "ema":
		set.Merge("", averageInit(codes, counts))
	case b.config.Average.Pull > 0:
		set[countsPath] = averageInit(codes, counts)[countsPath]
	}
	if b.config.Cache.Period > 1 {
		set[cachePath] = codes.Clone()
		if b.accumulates() {
			set[cacheGradientPath] = weights.New(codes.Shape...)
		}
	}
	return set, nil
}

func (b codebook) caches() bool      { return b.config.Cache.Period > 1 }
func (b codebook) accumulates() bool { return b.caches() && b.config.Cache.Gradient == "accumulate" }

// usable is C' [K,d] from live parameters.
func (b codebook) Usable(ctx *Context) *Node {
	return b.config.Transform.Apply(ctx.Vars, ctx.Vars.Get("codes"))
}

// Assign implements [Level]: the nearest usable code of each residual, gathered
// so that gradients reach the codebook's parameters.
func (b codebook) Assign(ctx *Context, residual *Node) Assigned {
	index, hard := b.nearest(ctx, residual)
	a := Assigned{Index: index, Hard: hard, Loss: b.losses(ctx, residual, hard, index)}
	switch {
	case !ctx.Training:
	case b.config.Learn == "ema":
		a.Updates = b.average(ctx, residual, index)
	case b.config.Average.Pull > 0:
		a.Updates = b.pull(ctx, residual, hard, index)
	}
	return a
}

func (b codebook) nearest(ctx *Context, residual *Node) (index, hard *Node) {
	if !ctx.Training || !b.caches() {
		codes := b.Usable(ctx)
		index = Nearest(residual, codes)
		return index, Take(codes, index)
	}
	cache := ctx.Vars.Get(cachePath)
	index = Nearest(residual, cache)
	if b.accumulates() {
		return index, Take(cache, index)
	}
	return index, b.config.Transform.Rows(ctx.Vars, ctx.Vars.Get("codes"), index)
}

// losses is the sum of the configured auxiliary losses. residual carries
// gradients to the encoder, hard to the codebook.
func (b codebook) losses(ctx *Context, residual, hard, index *Node) *Node {
	w := b.config.Loss
	loss := ScalarZero(residual.Graph(), residual.DType())
	if w.Codebook > 0 {
		loss = Add(loss, MulScalar(ctx.MeanSquare(Sub(hard, StopGradient(residual))), w.Codebook))
	}
	if w.Commitment > 0 {
		loss = Add(loss, MulScalar(ctx.MeanSquare(Sub(residual, StopGradient(hard))), w.Commitment))
	}
	if w.Usage > 0 {
		loss = Add(loss, MulScalar(b.underuse(ctx, residual, hard, index), w.Usage))
	}
	if w.AttentionEntropy > 0 {
		if entropy := b.config.Transform.Entropy(ctx.Vars, ctx.Vars.Get("codes")); entropy != nil {
			loss = Add(loss, MulScalar(entropy, w.AttentionEntropy))
		}
	}
	return loss
}

// refresh returns the new cache of C', with gradients to the parameters behind
// it: collected gradients reach them this way.
func (b codebook) Refresh(ctx *Context) map[string]*Node {
	if !b.caches() {
		return nil
	}
	return map[string]*Node{ctx.Vars.Path(cachePath): b.Usable(ctx)}
}

// project keeps |W|₂ within the configured bound.
func (b codebook) Project(ctx *Context, values map[string]*Node) {
	if b.config.Transform.SpectralClip <= 0 {
		return
	}
	path := ctx.Vars.Path(FeatureMapPath)
	u := ctx.Vars.Find("state/feature_u")
	if w, ok := values[path]; ok && u != nil {
		clipped, next := b.config.Transform.ClippedFeature(w, u)
		values[path] = clipped
		values[ctx.Vars.Path("state/feature_u")] = next
	}
}

// Rewire implements [Rewirer].
func (b codebook) Rewire(vars weights.Set) error {
	return b.config.Transform.Refresh(vars, vars["codes"])
}

// place moves codes onto targets; see [transform.Config.Place].
func (b codebook) Place(set weights.Set, rows []int, targets []float32, mode transform.PlaceMode) ([]Touched, error) {
	codes, ok := set["codes"]
	if !ok {
		return nil, fmt.Errorf("the codebook has no variable %q", "codes")
	}
	touched, err := b.config.Transform.Place(set, codes, rows, targets, mode)
	if err != nil {
		return nil, err
	}
	out := make([]Touched, 0, len(touched))
	for _, t := range touched {
		out = append(out, Touched{Path: t.Variable, Row: t.Row})
	}
	if mode != transform.Reset {
		return out, nil
	}
	restartAverages(set, rows, targets)
	if collected, ok := set[cacheGradientPath]; ok {
		for _, row := range rows {
			clear(collected.Row(row)) // it belonged to the code that was there
		}
	}
	return out, nil
}
