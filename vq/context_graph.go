package vq

import (
	"fmt"

	"github.com/gomlx/compute/shapes"

	"github.com/gritvq/gritvq/transform"

	. "github.com/gomlx/gomlx/core/graph"
)

// order lists rows of whole grids.
type order struct {
	phases *Node   // [N,1] the rows of phase 0 of all grids, then those of phase 1, …
	back   *Node   // [N,1] where each row is in that order
	ends   []int   // of the phases in that order
	share  []*Node // of every phase in the rows in use, scalars
}

// orderOf returns the order of rows z [N,d].
func (q *Phased) orderOf(ctx *Context, z *Node) order {
	n, cells := z.Shape().Dimensions[0], q.config.Side*q.config.Side
	if n%cells != 0 {
		panic(fmt.Errorf("%d latents are no whole grids of %d x %d cells", n, q.config.Side, q.config.Side))
	}
	var o order
	rows, back := make([]int32, 0, n), make([]int32, n)
	for _, own := range q.cells {
		for first := 0; first < n; first += cells {
			for _, cell := range own {
				back[first+cell] = int32(len(rows))
				rows = append(rows, int32(first+cell))
			}
		}
		o.ends = append(o.ends, len(rows))
	}
	g := z.Graph()
	o.phases, o.back = Reshape(Const(g, rows), n, 1), Reshape(Const(g, back), n, 1)
	for p := range q.cells {
		share := Scalar(g, z.DType(), float64(len(q.cells[p]))/float64(cells))
		if ctx.Mask != nil {
			mask := ConvertDType(ctx.Mask, z.DType())
			share = Div(ReduceAllSum(o.of(p, mask)), MaxScalar(ReduceAllSum(mask), 1))
		}
		o.share = append(o.share, share)
	}
	return o
}

// of returns the rows of a phase; nil of nil.
func (o order) of(p int, x *Node) *Node {
	if x == nil {
		return nil
	}
	first := 0
	if p > 0 {
		first = o.ends[p-1]
	}
	return Gather(x, Slice(o.phases, AxisRange(first, o.ends[p])))
}

// join puts the rows of all phases back into the order of the grids; phases that are
// missing at the end are zeros.
func (o order) join(phases []*Node) *Node {
	rest := o.ends[len(o.ends)-1] - o.ends[len(phases)-1]
	if rest > 0 {
		dims := append([]int{rest}, phases[0].Shape().Dimensions[1:]...)
		phases = append(phases[:len(phases):len(phases)], Zeros(phases[0].Graph(), shapes.Make(phases[0].DType(), dims...)))
	}
	return Gather(Concatenate(phases, 0), o.back)
}

// Prepare implements [Preparer].
func (q *Phased) Prepare(z *Node) *Node { return Prepare(q.stacks[0], z) }

// Build implements [Quantizer]. The losses are those of the phases and, under a network,
// the direct term Loss.Context·|shift + scale*code - sg z|²: the surrogate of a radius
// passes a gradient of rank one only.
func (q *Phased) Build(ctx *Context, z *Node) Output {
	precision := z.DType()
	z = q.Prepare(z)
	o := q.orderOf(ctx, z)
	out := Output{Updates: map[string]*Node{}, Stats: map[string]*Node{}}
	var hard, soft, index []*Node
	for p, stack := range q.stacks {
		at := ctx.in(phasePath(p))
		at.Mask, at.Given = o.of(p, ctx.Mask), o.of(p, ctx.Given)
		own := o.of(p, z)
		if p > 0 && q.Conditioned() {
			at.Shift, at.Scale = q.condition(ctx, o, p, hard)
		}
		b := stack.Build(at, own)
		if w := q.config.Loss.Context; at.Shift != nil && w > 0 {
			b.Loss = Add(b.Loss, MulScalar(at.MeanSquare(Sub(b.Hard, StopGradient(own))), w))
		}
		hard, soft, index = append(hard, b.Hard), append(soft, b.Soft), append(index, b.Index)
		out.Residuals = append(out.Residuals, b.Residuals...)
		out.Surrogates = append(out.Surrogates, b.Surrogates...)
		mergeUpdates(out.Updates, b.Updates)
		out.Loss = plus(out.Loss, Mul(b.Loss, o.share[p])) // means over elements stay means
		for name, value := range b.Stats {
			out.Stats[name] = plus(out.Stats[name], Mul(value, o.share[p]))
		}
	}
	out.Hard, out.Index = o.join(hard), o.join(index)
	out.Soft = ConvertDType(o.join(soft), precision)
	return out
}

// condition returns the shift and the scale [N',d] of the rows of phase p, given the
// quantized latents of the phases before.
func (q *Phased) condition(ctx *Context, o order, p int, earlier []*Node) (shift, scale *Node) {
	sent := make([]*Node, p) // quantized latents, and 1
	for i, x := range earlier[:p] {
		one := Ones(x.Graph(), shapes.Make(x.DType(), x.Shape().Dimensions[0], 1))
		sent[i] = Concatenate([]*Node{StopGradient(x), one}, -1)
	}
	around := PadAxis{Start: transform.ContextReach, End: transform.ContextReach}
	cells := Reshape(o.join(sent), -1, q.config.Side, q.config.Side, q.layout.Dim+1)
	cells = Pad(cells, ScalarZero(cells.Graph(), cells.DType()), PadAxis{}, around, around, PadAxis{})
	v := ctx.Vars.In("%s", contextPath(p))
	return q.network.Affine(v, o.of(p, q.network.Features(v, cells)))
}

// Condition maps cells [B, h+2r, w+2r, d+1] of any grid, as [transform.Context] takes
// them, to the shift and the scale [B*h*w, 2d] of codes in phase p.
func (q *Phased) Condition(ctx *Context, p int, cells *Node) *Node {
	v := ctx.Vars.In("%s", contextPath(p))
	shift, scale := q.network.Affine(v, q.network.Features(v, cells))
	return Concatenate([]*Node{shift, scale}, -1)
}

// Innovations returns (z-mu)/s [N,d] of latents z, with shifts and scales from the
// unquantized latents of earlier phases; of the first phase z itself.
func (q *Phased) Innovations(ctx *Context, z *Node) *Node {
	z = q.Prepare(z)
	o := q.orderOf(ctx, z)
	var latents, all []*Node
	for p := range q.stacks {
		own := o.of(p, z)
		latents = append(latents, own)
		if p > 0 && q.Conditioned() {
			shift, scale := q.condition(ctx, o, p, latents)
			own = Div(Sub(own, shift), scale)
		}
		all = append(all, own)
	}
	return o.join(all)
}

// ContextLoss is the scalar that the network is fitted with before codes are placed,
// given unquantized latents z of whole grids. In every later phase the shift minimises
// the squared error r = z - mu of all dimensions together, and the scale maximises the
// likelihood of Gaussians N(mu_j, (σ_j s_j)²) with the best σ_j of each dimension, which
// codes can take on:
//
//	½ log mean r² + mean_j ½ log mean (sg r_j / s_j)² + mean log s
func (q *Phased) ContextLoss(ctx *Context, z *Node) *Node {
	const least = 1e-20 // of a variance
	half := func(squares *Node) *Node { return MulScalar(Log(MaxScalar(squares, least)), 0.5) }
	z = q.Prepare(z)
	o := q.orderOf(ctx, z)
	var latents []*Node
	var loss *Node
	for p := range q.stacks {
		own := o.of(p, z)
		latents = append(latents, own)
		if p == 0 {
			continue
		}
		shift, scale := q.condition(ctx, o, p, latents)
		rest := Sub(own, shift)
		spread := half(ReduceMean(Square(Div(StopGradient(rest), scale)), 0))
		loss = plus(loss, Add(half(ReduceAllMean(Square(rest))), Add(ReduceAllMean(spread), ReduceAllMean(Log(scale)))))
	}
	return loss
}

// Lookup turns indices [N,L] of whole grids back into vectors [N,d].
func (q *Phased) Lookup(ctx *Context, index *Node) *Node {
	at := &Context{Vars: ctx.Vars, Given: index}
	books := q.Codebooks(&Context{Vars: ctx.Vars})
	return q.Build(at, Zeros(index.Graph(), shapes.Make(books[0].DType(), index.Shape().Dimensions[0], q.layout.Dim))).Hard
}

// Codebooks implements [Quantizer]: those of every slot, phase after phase.
func (q *Phased) Codebooks(ctx *Context) []*Node {
	var books []*Node
	for p, stack := range q.stacks {
		books = append(books, stack.Codebooks(ctx.in(phasePath(p)))...)
	}
	return books
}

// Refresh implements [Refresher].
func (q *Phased) Refresh(ctx *Context) map[string]*Node {
	values := map[string]*Node{}
	for p, stack := range q.stacks {
		mergeUpdates(values, Refresh(stack, ctx.in(phasePath(p))))
	}
	return values
}

// Project implements [Projector].
func (q *Phased) Project(ctx *Context, values map[string]*Node) {
	for p, stack := range q.stacks {
		Project(stack, ctx.in(phasePath(p)), values)
	}
}
