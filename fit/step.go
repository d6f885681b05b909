package fit

import (
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// Scalars a step reports, in the order of its first output.
var stepScalars = []string{
	"loss", "reconstruction", "auxiliary", "kept", "gradient_norm", "gap", "k",
	"gradient_network", "gradient_codes", "gradient_mixer", "gradient_feature", "gradient_radius",
}

// paceInput is the layout of a step's scalar input: keep in step with readPace.
const paceInputs = 4 // correction1, correction2, progress, clip; then a rate a group

func readPace(x *Node) (p pace, progress *Node) {
	at := func(i int) *Node { return Reshape(Slice(x, AxisRange(i, i+1))) }
	p = pace{correction1: at(0), correction2: at(1), rate: map[weights.Group]*Node{}}
	for i, g := range weights.Groups {
		p.rate[g] = at(paceInputs + i)
	}
	return p, at(2)
}

// objective builds the losses of one batch.
type objective func(ctx *vq.Context, x *Node) (reconstruction *Node, out vq.Output)

// trainStep builds one optimizer step over the given parameters and returns the
// new values by path, the reported scalars [len(stepScalars)] and the codes.
//
// A loss or gradient that is not finite skips the step: every parameter,
// moment and running average keeps its value.
func (t *Trainer) trainStep(v weights.Vars, build objective, parameters []string, x, scalars, active *Node) (next map[string]*Node, report, index *Node) {
	p, progress := readPace(scalars)
	ctx := &vq.Context{Vars: v, Training: true, Progress: progress}
	if t.config.Quantizer.Dropout > 0 {
		ctx.Active = active
	}
	reconstruction, out := build(ctx, x)
	zero := ScalarZero(x.Graph(), x.DType())
	loss, auxiliary := reconstruction, zero
	if out.Loss != nil {
		auxiliary = out.Loss
		loss = Add(loss, auxiliary)
	}

	nodes := make([]*Node, len(parameters))
	for i, path := range parameters {
		nodes[i] = v.Get(path)
	}
	caches := t.accumulated(v)
	gradients := Gradient(loss, append(nodes, caches...)...)
	gradients, cacheGradients := gradients[:len(nodes)], gradients[len(nodes):]

	squares := map[weights.Group]*Node{}
	total := zero
	for i, path := range parameters {
		square := ReduceAllSum(Square(gradients[i]))
		total = Add(total, square)
		group := weights.GroupOf(path)
		if sum, ok := squares[group]; ok {
			square = Add(sum, square)
		}
		squares[group] = square
	}
	norm := Sqrt(total)
	finite := And(IsFinite(loss), IsFinite(norm))
	p.keep = ConvertDType(finite, x.DType())
	p.scale = OnesLike(norm)
	if t.config.Train.ClipNorm > 0 {
		limit := Reshape(Slice(scalars, AxisRange(3, 4)))
		p.scale = Where(finite, Min(OnesLike(norm), Div(limit, MaxScalar(norm, 1e-12))), ZerosLike(norm))
	}

	next = map[string]*Node{}
	for i, path := range parameters {
		safe := Where(finite, gradients[i], ZerosLike(gradients[i]))
		for updated, value := range t.config.Train.Optimizer.update(v, path, safe, p) {
			next[updated] = value
		}
	}
	inner := *ctx
	inner.Vars = v.In("quantizer")
	t.model.Quantizer.Project(&inner, next)
	for path, value := range out.Updates {
		old := v.Get(path)
		next[path] = Where(finite, value, old)
	}
	for i, path := range t.accumulators {
		old := v.Get(path + "_gradient")
		next[path+"_gradient"] = Where(finite, Add(old, cacheGradients[i]), old)
	}
	t.averageWeights(v, next)

	stat := func(name string) *Node {
		if s, ok := out.Stats[name]; ok {
			return s
		}
		return zero
	}
	values := []*Node{loss, reconstruction, auxiliary, p.keep, norm, stat("gap"), stat("k")}
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

// averageWeights moves the shadow copies towards the new parameters.
func (t *Trainer) averageWeights(v weights.Vars, next map[string]*Node) {
	decay := t.config.Train.Average
	if decay == 0 {
		return
	}
	shadows := map[string]*Node{}
	for path, value := range next {
		if shadow := v.Find(averagePrefix + "/" + path); shadow != nil {
			shadows[averagePrefix+"/"+path] = Add(MulScalar(shadow, decay), MulScalar(value, 1-decay))
		}
	}
	for path, value := range shadows {
		next[path] = value
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

// refreshStep sends the collected gradients of C' through the transform, takes
// one optimizer step on the codebook's parameters, and rebuilds the cache. It
// is the second half of a step when the cache accumulates, and only the rebuild
// otherwise.
func (t *Trainer) refreshStep(v weights.Vars, scalars *Node) map[string]*Node {
	p, progress := readPace(scalars)
	ctx := &vq.Context{Vars: v.In("quantizer"), Training: true, Progress: progress}
	next := map[string]*Node{}
	if len(t.accumulators) > 0 {
		books := t.model.Quantizer.Refresh(ctx) // before the step, with gradients
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
		p.keep, p.scale = OnesLike(p.correction1), OnesLike(p.correction1)
		for i, gradient := range Gradient(loss, nodes...) {
			for updated, value := range t.config.Train.Optimizer.update(v, t.deferred[i], gradient, p) {
				next[updated] = value
			}
		}
		t.model.Quantizer.Project(ctx, next)
		t.averageWeights(v, next)
		stepped := weights.NewVars(func(path string) *Node {
			if n, ok := next[path]; ok {
				return n
			}
			return v.Find(path)
		})
		ctx = &vq.Context{Vars: stepped.In("quantizer"), Training: true, Progress: progress}
	}
	for path, value := range t.model.Quantizer.Refresh(ctx) {
		next[path] = StopGradient(value)
	}
	return next
}
