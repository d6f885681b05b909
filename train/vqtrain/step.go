package vqtrain

import (
	"maps"

	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// Scalars that a step reports beside its loss.
const (
	scalarReconstruction = iota
	scalarAuxiliary
	scalarGap
	scalarK
	scalarPerceptual
)

// stride returns the share of the learning rate each parameter takes: mixers that
// sum over many codes take shorter steps (see [transform.Config.Stride]).
func (t *Trainer) stride(path string, dims []int) float64 {
	if weights.GroupOf(path) != weights.Mixer {
		return 1
	}
	return t.config.Quantizer.Transform.Stride(path, dims)
}

// build runs one batch through the model, without the quantizer while it warms up.
func (t *Trainer) build(v weights.Vars, in train.Inputs) train.Pass {
	x, active := in.Batch[0], in.Batch[1]
	ctx := &vq.Context{Vars: v, Training: true, Progress: in.Progress}
	var pass tokenizer.Pass
	if t.state.Started {
		if t.config.Quantizer.Dropout > 0 {
			ctx.Active = active
		}
		ctx.Random = vq.NewRandom(in.Random)
		pass = t.model.Pass(ctx, x)
	} else {
		pass = t.model.Unquantized(v, x)
	}
	out, reconstruction := pass.Quantized, pass.Error()
	zero := ScalarZero(x.Graph(), reconstruction.DType())
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
	stat := func(name string) *Node {
		if s, ok := out.Stats[name]; ok {
			return s
		}
		return zero
	}
	built := train.Pass{
		Loss:    loss,
		Scalars: []*Node{reconstruction, auxiliary, stat("gap"), stat("k"), perceptual},
		Extra:   t.accumulated(v),
		Finish: func(next map[string]*Node, u train.Update) {
			inner := *ctx
			inner.Vars = v.In(vq.Prefix)
			t.project(&inner, v, next, u.Step)
			t.finish(v, out, next, u)
		},
	}
	if out.Index != nil {
		built.Outputs = []*Node{out.Index}
	}
	return built
}

// finish adds the quantizer's own updates, and collects the gradients of cached
// codebooks.
func (t *Trainer) finish(v weights.Vars, out vq.Output, next map[string]*Node, u train.Update) {
	for path, value := range out.Updates {
		old := v.Get(path)
		if stepped, trained := next[path]; trained { // a parameter goes both ways
			value = Add(stepped, Sub(value, old))
		}
		next[path] = Where(u.Finite, value, old)
	}
	for i, path := range t.accumulators {
		old := v.Get(path + "_gradient")
		next[path+"_gradient"] = Where(u.Finite, Add(old, Mul(u.Extra[i], u.Scale)), old)
	}
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
