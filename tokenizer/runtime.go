package tokenizer

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gritvq/gritvq/internal/padding"
	"github.com/gritvq/gritvq/internal/program"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// BlockRows is the number of vectors or latents of a block. The last block is padded, so that the codes of a vector
// depend neither on its neighbours nor on how a file was cut.
const BlockRows = 1024

// Runtime encodes and decodes with fixed weights: the engine runs the networks, the host finds the nearest codes. It is
// safe for concurrent use.
type Runtime struct {
	tokenizer *Tokenizer
	codebooks []*weights.Array // usable codes of every slot
	search    vq.Search
	phases    []vq.PhaseSearch // in place of search where cells are coded in phases
	curve     *vq.Curve        // through the codes; nil for most methods
	encode    *model.Exec
	decode    *model.Exec
	unrefined *model.Exec   // decodes leading levels, see [Tokenizer.Refines]; nil where there is nothing to leave out
	choose    *model.Exec   // latents to codes, for quantizers that are not searchable
	condition []*model.Exec // cells to shifts and scales, for every later phase that has them
	store     *model.Store

	latentScale float64
}

// Usable computes the codebooks C' of every slot (see [vq.Layout]) from the variables of a trained tokenizer.
func Usable(backend compute.Backend, t *Tokenizer, set weights.Set) ([]*weights.Array, error) {
	if err := padding.Add(backend); err != nil {
		return nil, err
	}
	store := model.NewStore()
	defer store.Finalize()
	if err := weights.Install(store, set); err != nil {
		return nil, err
	}
	values, err := model.CallOnceN(backend, store, func(_ *model.Scope, g *graph.Graph) []*graph.Node {
		return t.Quantizer.Codebooks(&vq.Context{Vars: weights.FromStore(store, g).In(vq.Prefix)})
	})
	if err != nil {
		return nil, fmt.Errorf("building the codebooks: %w", err)
	}
	books := make([]*weights.Array, len(values))
	for i, v := range values {
		data, err := tensors.CopyFlatData[float32](v)
		if err != nil {
			return nil, err
		}
		books[i] = &weights.Array{Shape: append([]int{}, v.Shape().Dimensions...), Data: data}
	}
	return books, nil
}

// NewRuntime prepares a tokenizer with its variables and codebooks (see [Usable]); without codebooks only networks work.
func NewRuntime(backend compute.Backend, t *Tokenizer, set weights.Set, codebooks []*weights.Array) (*Runtime, error) {
	if err := padding.Add(backend); err != nil {
		return nil, err
	}
	r := &Runtime{tokenizer: t, store: model.NewStore()}
	err := r.Update(set, codebooks)
	compile := func(into **model.Exec, build func(v weights.Vars, x *graph.Node) *graph.Node) {
		if err == nil {
			*into, err = model.NewExec(backend, r.store, func(_ *model.Scope, x *graph.Node) *graph.Node {
				return program.PlannedOne("a block of rows", []*graph.Node{x}, build(weights.FromStore(r.store, x.Graph()), x))
			})
		}
	}
	compile(&r.encode, t.Encode)
	compile(&r.decode, func(v weights.Vars, z *graph.Node) *graph.Node { return t.network.output(t.Decode(v, z)) })
	if t.Refines() {
		compile(&r.unrefined, t.network.restore)
	}
	compile(&r.choose, func(v weights.Vars, z *graph.Node) *graph.Node {
		chosen := t.Quantizer.Build(&vq.Context{Vars: v.In(vq.Prefix)}, z).Index
		return graph.ConvertDType(chosen, z.DType()) // exact: below 2^24
	})
	if q, ok := t.Quantizer.(*vq.Phased); ok && q.Conditioned() {
		r.condition = make([]*model.Exec, t.Quantizer.Layout().Phases)
		for p := 1; p < len(r.condition); p++ {
			compile(&r.condition[p], func(v weights.Vars, cells *graph.Node) *graph.Node {
				return q.Condition(&vq.Context{Vars: v.In(vq.Prefix)}, p, cells)
			})
		}
	}
	return r, err
}

// Update replaces variables and codebooks without compiling again. Nothing else may use the runtime meanwhile.
func (r *Runtime) Update(set weights.Set, codebooks []*weights.Array) (err error) {
	r.codebooks, r.search, r.phases, r.curve = codebooks, nil, nil, nil
	q, phased := r.tokenizer.Quantizer.(*vq.Phased)
	switch {
	case codebooks == nil:
	case phased:
		r.phases, err = q.Searches(set.Sub(vq.Prefix), codebooks)
	default:
		r.search, err = vq.NewSearch(r.tokenizer.Quantizer, set.Sub(vq.Prefix), codebooks)
		r.curve = vq.NewCurve(r.tokenizer.Quantizer, codebooks)
	}
	if err != nil {
		return err
	}
	r.latentScale = r.tokenizer.latentScale(set)
	return weights.Install(r.store, set)
}

// Close releases weights and compiled networks; the runtime must not be used afterwards.
func (r *Runtime) Close() {
	r.encode.Finalize()
	r.decode.Finalize()
	r.choose.Finalize()
	for _, exec := range append(r.condition, r.unrefined) {
		if exec != nil {
			exec.Finalize()
		}
	}
	r.store.Finalize()
}

// Tokenizer returns the model.
func (r *Runtime) Tokenizer() *Tokenizer { return r.tokenizer }

// Curved says whether the codes are the corners of a curve, see [vq.Curve].
func (r *Runtime) Curved() bool { return r.curve != nil }

// Codebooks returns the usable codes of every slot.
func (r *Runtime) Codebooks() []*weights.Array { return r.codebooks }
