package vqtrain

import (
	"maps"

	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// Scalars a step reports, in the order of its first output.
var stepScalars = []string{
	"loss", "reconstruction", "auxiliary", "kept", "gradient_norm", "gap", "k", "perceptual",
	"gradient_network", "gradient_codes", "gradient_mixer", "gradient_feature", "gradient_radius",
}

// The layout of a step's scalar input; a rate for every group follows.
const (
	paceCorrection1 = iota
	paceCorrection2
	paceProgress
	paceClip
	paceAverage // share of the new value in the weight average
	paceApply   // 1, or 0 while the parts of a batch are collected
	paceInputs
)

// pace is what changes from step to step.
type pace struct {
	optim.Pace
	clip    *Node // bound on the gradient's norm
	average *Node // share of new values in the weight average
	apply   *Node // 0 while parts of a batch are collected
}

func readPace(x *Node) (p pace, progress *Node) {
	at := func(i int) *Node { return Reshape(Slice(x, AxisRange(i, i+1))) }
	p = pace{clip: at(paceClip), average: at(paceAverage), apply: at(paceApply)}
	p.Correction1, p.Correction2, p.Rate = at(paceCorrection1), at(paceCorrection2), map[weights.Group]*Node{}
	for i, g := range weights.Groups {
		p.Rate[g] = at(paceInputs + i)
	}
	return p, at(paceProgress)
}

// stride returns the share of the learning rate each parameter takes: mixers that
// sum over many codes take shorter steps (see [transform.Config.Stride]).
func (t *Trainer) stride(path string, dims []int) float64 {
	if weights.GroupOf(path) != weights.Mixer {
		return 1
	}
	return t.config.Quantizer.Transform.Stride(path, dims)
}

// forward runs one batch through the model.
type forward func(ctx *vq.Context, x *Node) tokenizer.Pass

// trainStep builds one optimizer step over the given parameters and returns the
// new values by path, the reported scalars [len(stepScalars)] and the codes.
//
// A loss or gradient that is not finite skips the step: every parameter,
// moment and running average keeps its value.
func (t *Trainer) trainStep(v weights.Vars, build forward, parameters []string, x, scalars, active, random *Node) (next map[string]*Node, report, index *Node) {
	p, progress := readPace(scalars)
	p.Stride, p.Decay = t.stride, map[weights.Group]float64{weights.Mixer: t.config.Train.Optimizer.MixerDecay}
	ctx := &vq.Context{Vars: v, Training: true, Progress: progress}
	if t.config.Quantizer.Dropout > 0 {
		ctx.Active = active
	}
	if random != nil {
		ctx.Random = vq.NewRandom(random)
	}
	pass := build(ctx, x)
	out, reconstruction := pass.Quantized, pass.Error()
	precision := reconstruction.DType()
	zero := ScalarZero(x.Graph(), precision)
	loss, auxiliary := reconstruction, zero
	perceptual := t.perceptual(v, pass)
	if perceptual == nil {
		perceptual = zero
	} else {
		loss = Add(loss, MulScalar(perceptual, t.config.Train.Perceptual))
	}
	if out.Loss != nil {
		auxiliary = out.Loss
		loss = Add(loss, auxiliary)
	}

	gradients := t.bank.Gradients(loss, v, parameters, t.accumulated(v)...)
	next = map[string]*Node{}
	if parts := t.config.Train.Accumulate; parts > 1 {
		// What earlier parts of the batch collected joins in; a gradient that is
		// not finite stays so until the step is skipped.
		for i, path := range parameters {
			collected := v.Get(partialPrefix + "/" + path)
			gradients[i] = Add(collected, MulScalar(gradients[i], 1/float64(parts)))
			next[partialPrefix+"/"+path] = Where(GreaterThan(p.apply, zero), ZerosLike(collected), gradients[i])
		}
	}

	squares := map[weights.Group]*Node{}
	total := zero
	for i, gradient := range gradients {
		square := ReduceAllSum(Square(gradient))
		total = Add(total, square)
		group := weights.Codes // of the cached codebooks
		if i < len(parameters) {
			group = weights.GroupOf(parameters[i])
		}
		if sum, ok := squares[group]; ok {
			square = Add(sum, square)
		}
		squares[group] = square
	}
	gradients, cacheGradients := gradients[:len(parameters)], gradients[len(parameters):]
	norm := Sqrt(total)
	finite := And(IsFinite(loss), IsFinite(norm))
	kept := ConvertDType(finite, precision)
	p.Keep = Mul(kept, p.apply)
	p.Scale = OnesLike(norm)
	if t.config.Train.ClipNorm > 0 {
		p.Scale = Where(finite, Min(OnesLike(norm), Div(p.clip, MaxScalar(norm, 1e-12))), ZerosLike(norm))
	}

	for i, path := range parameters {
		safe := Where(finite, gradients[i], ZerosLike(gradients[i]))
		for updated, value := range t.config.Train.Optimizer.Update(v, path, safe, p.Pace) {
			next[updated] = value
		}
	}
	inner := *ctx
	inner.Vars = v.In("quantizer")
	t.project(&inner, v, next, And(finite, GreaterThan(p.apply, zero)))
	for path, value := range out.Updates {
		old := v.Get(path)
		if stepped, trained := next[path]; trained { // a parameter goes both ways
			value = Add(stepped, Sub(value, old))
		}
		next[path] = Where(finite, value, old)
	}
	for i, path := range t.accumulators {
		old := v.Get(path + "_gradient")
		next[path+"_gradient"] = Where(finite, Add(old, Mul(cacheGradients[i], p.Scale)), old)
	}
	t.averageWeights(v, next, Mul(p.Keep, p.average))

	stat := func(name string) *Node {
		if s, ok := out.Stats[name]; ok {
			return s
		}
		return zero
	}
	values := []*Node{loss, reconstruction, auxiliary, kept, norm, stat("gap"), stat("k"), perceptual}
	for _, g := range weights.Groups {
		if s, ok := squares[g]; ok {
			values = append(values, Sqrt(s))
		} else {
			values = append(values, zero)
		}
	}
	for i := range values {
		values[i] = Reshape(values[i], 1)
	}
	return next, Concatenate(values, 0), out.Index
}

// project applies the quantizer's constraints to new values; a skipped step
// keeps what they would change.
func (t *Trainer) project(ctx *vq.Context, v weights.Vars, next map[string]*Node, finite *Node) {
	before := maps.Clone(next)
	vq.Project(t.model.Quantizer, ctx, next)
	for path, value := range next {
		if value != before[path] {
			next[path] = Where(finite, value, v.Get(path))
		}
	}
}

// averageWeights moves the shadow copies towards the parameters, every step and
// for all of them: those trained once a refresh, and averaged codes solved for
// on the host, keep their value between.
func (t *Trainer) averageWeights(v weights.Vars, next map[string]*Node, share *Node) {
	for _, path := range t.averaged {
		value, ok := next[path]
		if !ok {
			value = v.Get(path)
		}
		shadow := averagePrefix + "/" + path
		next[shadow] = Add(Mul(v.Get(shadow), OneMinus(share)), Mul(value, share))
	}
}

// accumulated returns the cached codebooks whose gradient is collected between
// refreshes.
func (t *Trainer) accumulated(v weights.Vars) []*Node {
	nodes := make([]*Node, len(t.accumulators))
	for i, path := range t.accumulators {
		nodes[i] = v.Get(path)
	}
	return nodes
}

// refreshStep rebuilds the cache. With advance it first sends the gradients of
// C' that a whole period collected through the transform and takes one optimizer
// step on the codebook's parameters.
func (t *Trainer) refreshStep(v weights.Vars, scalars *Node, advance bool) map[string]*Node {
	p, progress := readPace(scalars)
	p.Stride, p.Decay = t.stride, map[weights.Group]float64{weights.Mixer: t.config.Train.Optimizer.MixerDecay}
	ctx := &vq.Context{Vars: v.In("quantizer"), Training: true, Progress: progress}
	next := map[string]*Node{}
	if advance {
		books := vq.Refresh(t.model.Quantizer, ctx) // before the step, with gradients
		loss := ScalarZero(scalars.Graph(), scalars.DType())
		for _, path := range t.accumulators {
			collected := MulScalar(v.Get(path+"_gradient"), 1/float64(t.config.Quantizer.Cache.Period))
			loss = Add(loss, ReduceAllSum(Mul(books[path], StopGradient(collected))))
			next[path+"_gradient"] = ZerosLike(collected)
		}
		nodes := make([]*Node, len(t.deferred))
		for i, path := range t.deferred {
			nodes[i] = v.Get(path)
		}
		gradients := Gradient(loss, nodes...)
		total := ScalarZero(scalars.Graph(), scalars.DType())
		for _, gradient := range gradients {
			total = Add(total, ReduceAllSum(Square(gradient)))
		}
		finite := IsFinite(total)
		p.Keep, p.Scale = ConvertDType(finite, scalars.DType()), OnesLike(total)
		for i, gradient := range gradients {
			safe := Where(finite, gradient, ZerosLike(gradient))
			for updated, value := range t.config.Train.Optimizer.Update(v, t.deferred[i], safe, p.Pace) {
				next[updated] = value
			}
		}
		t.project(ctx, v, next, finite)
		stepped := weights.NewVars(func(path string) *Node {
			if n, ok := next[path]; ok {
				return n
			}
			return v.Find(path)
		})
		ctx = &vq.Context{Vars: stepped.In("quantizer"), Training: true, Progress: progress}
	}
	for path, value := range vq.Refresh(t.model.Quantizer, ctx) {
		next[path] = StopGradient(value)
	}
	return next
}
