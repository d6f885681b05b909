package vqtrain

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// stride returns the share of the learning rate each parameter takes: mixers that
// sum over many codes take shorter steps (see [transform.Config.Stride]).
func (t *Trainer) stride(path string, dims []int) float64 {
	if weights.GroupOf(path) != weights.Mixer {
		return 1
	}
	return t.config.Quantizer.Transform.Stride(path, dims)
}

// passScalars is the number of scalars of a pass before those of a discriminator.
const passScalars = 5

// build runs one batch through the model, without the quantizer while it warms up.
// It reports the reconstruction error, the quantizer's own losses, the gap, the
// gradient factor k and the perceptual loss.
func (t *Trainer) build(v weights.Vars, in train.Inputs) train.Pass {
	x, active := in.Batch[0], in.Batch[1]
	ctx := &vq.Context{Vars: v, Training: true, Progress: in.Progress, Kept: t.finishing(0)}
	var pass tokenizer.Pass
	if t.state.Started {
		if t.config.Quantizer.Dropout > 0 {
			ctx.Active = active
		}
		if len(in.Batch) > batchInputs {
			ctx.Given = in.Batch[batchInputs]
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
	var judged judgement
	if t.state.Contest != nil {
		judged = t.adversarial(v, pass, loss)
		loss = judged.loss
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
		Assist:  judged.assist,
		Scalars: append([]*Node{reconstruction, auxiliary, stat("gap"), stat("k"), perceptual}, judged.scalars...),
		Extra:   nodes(v, t.accumulators),
		Finish: func(next map[string]*Node, u train.Update) {
			inner := *ctx
			inner.Vars = v.In(vq.Prefix)
			t.project(&inner, v, next, u.Step)
			t.finish(v, out, in.Progress, next, u)
		},
	}
	if out.Index != nil {
		built.Outputs = []*Node{out.Index}
	}
	for _, s := range out.Surrogates {
		built.Watched = append(built.Watched, s.Value)
	}
	if t.state.Started {
		built.Measure = func(gradients []*Node) []*Node {
			if len(gradients) == 0 { // a quantizer of another construction
				return []*Node{zero, zero, zero}
			}
			return vq.Pulls(out.Surrogates, gradients)
		}
	}
	return built
}

// finish adds the quantizer's own updates, and collects the gradients of cached
// codebooks.
func (t *Trainer) finish(v weights.Vars, out vq.Output, progress *Node, next map[string]*Node, u train.Update) {
	moving := u.Finite
	if t.config.Train.Finish > 0 {
		moving = And(moving, LessThan(progress, Scalar(progress.Graph(), progress.DType(), 1-t.config.Train.Finish)))
	}
	for path, value := range out.Updates {
		if t.frozen(path) {
			continue
		}
		old := v.Get(path)
		if stepped, trained := next[path]; trained { // a parameter goes both ways
			value = Add(stepped, Sub(value, old))
		}
		next[path] = Where(moving, value, old)
	}
	t.keepRows(v, next)
	for i, path := range t.accumulators {
		old := v.Get(path + "_gradient")
		next[path+"_gradient"] = Where(u.Finite, Add(old, Mul(u.Extra[i], u.Scale)), old)
	}
}

// keepRows puts back the rows of new values that stay as they are.
func (t *Trainer) keepRows(v weights.Vars, next map[string]*Node) {
	for path, value := range next {
		if rows := t.keptRows(path); rows > 0 {
			kept := Slice(v.Get(path), AxisRange(0, rows), AxisRange())
			next[path] = Concatenate([]*Node{kept, Slice(value, AxisRange(rows), AxisRange())}, 0)
		}
	}
}

// project applies the quantizer's constraints to new values, unless the step is
// skipped.
func (t *Trainer) project(ctx *vq.Context, v weights.Vars, next map[string]*Node, finite *Node) {
	before := maps.Clone(next)
	vq.Project(t.model.Quantizer, ctx, next)
	for path, value := range next {
		if value != before[path] {
			next[path] = Where(finite, value, v.Get(path))
		}
	}
}

const perceptualPrefix = "state/perceptual" // of the perceptual network's weights

// perceptualVariables are the frozen weights of the perceptual network, which
// stand beside the model's; nil without a perceptual loss.
func (t *Trainer) perceptualVariables() (weights.Set, error) {
	if t.config.Train.Perceptual == 0 {
		return nil, nil
	}
	if t.source.Perceptual == nil || !t.config.Model.Pictures() {
		return nil, fmt.Errorf("train.perceptual: %g needs pictures and a perceptual network; set it to 0 to train without",
			t.config.Train.Perceptual)
	}
	return weights.Set{}.Merge(perceptualPrefix, t.source.Perceptual.Variables()), nil
}

// perceptual is the mean absolute difference of features between the pictures
// and their reconstructions, or nil where none is asked for. The network runs in
// the precision of the model's convolutions.
func (t *Trainer) perceptual(v weights.Vars, pass tokenizer.Pass) *Node {
	if t.config.Train.Perceptual == 0 {
		return nil
	}
	fraction := func(x *Node) *Node { // from [-1, 1] to [0, 1]
		x = MulScalar(AddScalar(x, 1), 0.5)
		if t.config.Model.Image.Precision == "bf16" {
			x = nn.InPrecision(x, dtypes.BFloat16)
		}
		return x
	}
	loss := t.source.Perceptual.PerceptualL1(v.In(perceptualPrefix), fraction(pass.Output), fraction(pass.Target))
	return ConvertDType(loss, dtypes.Float32)
}

// refreshStep rebuilds the cache. With advance it first sends the gradients of
// C' that a whole period collected through the transform and takes one optimizer
// step on the codebook's parameters. drift [1] is |C' - C'before| / |C'before|.
func (t *Trainer) refreshStep(v weights.Vars, scalars *Node, advance bool) (next map[string]*Node, drift *Node) {
	p := t.loop.ReadPace(scalars)
	ctx := &vq.Context{Vars: v.In(vq.Prefix), Training: true, Progress: p.Progress}
	next = map[string]*Node{}
	if advance && len(t.deferred) > 0 {
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
		t.keepRows(v, next)
		stepped := weights.NewVars(func(path string) *Node {
			if n, ok := next[path]; ok {
				return n
			}
			return v.Find(path)
		})
		ctx = &vq.Context{Vars: stepped.In(vq.Prefix), Training: true, Progress: p.Progress}
	}
	moved, size := ScalarZero(scalars.Graph(), scalars.DType()), ScalarZero(scalars.Graph(), scalars.DType())
	books := vq.Refresh(t.model.Quantizer, ctx)
	for _, path := range slices.Sorted(maps.Keys(books)) {
		value, before := StopGradient(books[path]), v.Get(path)
		next[path] = value
		moved, size = Add(moved, ReduceAllSum(Square(Sub(value, before)))), Add(size, ReduceAllSum(Square(before)))
	}
	return next, Reshape(Sqrt(Div(moved, MaxScalar(size, 1e-30))), 1)
}

func nodes(v weights.Vars, paths []string) []*Node {
	list := make([]*Node, len(paths))
	for i, p := range paths {
		list[i] = v.Get(p)
	}
	return list
}
