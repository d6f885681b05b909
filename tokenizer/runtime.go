package tokenizer

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/heapguard"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// BlockRows is the number of vectors or latents the engine sees at a time. Every
// block has this size (the last is padded), so that a vector's codes depend
// neither on its neighbours nor on how a file was cut.
const BlockRows = 1024

// Runtime encodes and decodes with fixed weights: the engine runs the networks,
// the host finds the nearest codes. It is safe for concurrent use.
type Runtime struct {
	tokenizer *Tokenizer
	codebooks []*weights.Array // usable codes of every position
	search    *index.Product
	encode    *model.Exec
	decode    *model.Exec
	choose    *model.Exec // latents to codes, for quantizers that are not searchable
	store     *model.Store
}

// Usable computes the codebooks C' of every code position from the variables of
// a trained tokenizer.
func Usable(backend compute.Backend, t *Tokenizer, set weights.Set) ([]*weights.Array, error) {
	heapguard.Ensure()
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

// NewRuntime prepares a tokenizer with the given variables and usable codebooks
// (see [Usable]).
func NewRuntime(backend compute.Backend, t *Tokenizer, set weights.Set, codebooks []*weights.Array) (*Runtime, error) {
	r := &Runtime{tokenizer: t}
	if err := r.setCodebooks(codebooks); err != nil {
		return nil, err
	}
	return r, r.compile(backend, set)
}

// Update replaces variables and usable codebooks without compiling the networks
// again; without codebooks only the networks can be used. Nothing else may use
// the runtime meanwhile.
func (r *Runtime) Update(set weights.Set, codebooks []*weights.Array) error {
	r.codebooks, r.search = nil, nil
	if codebooks != nil {
		if err := r.setCodebooks(codebooks); err != nil {
			return err
		}
	}
	return weights.Install(r.store, set)
}

func (r *Runtime) setCodebooks(codebooks []*weights.Array) error {
	layout := r.tokenizer.Quantizer.Layout()
	if len(codebooks) != layout.Positions() {
		return fmt.Errorf("%d codebooks for %d code positions", len(codebooks), layout.Positions())
	}
	parts := make([]*index.Residual, layout.Parts)
	for p := range parts {
		levels := make([]*index.Codes, layout.Levels)
		for l := range levels {
			book := codebooks[p*layout.Levels+l]
			codes, err := index.NewCodes(book.Data, book.Shape[0], book.Shape[1])
			if err != nil {
				return fmt.Errorf("codebook %d: %w", p*layout.Levels+l, err)
			}
			levels[l] = codes
		}
		var err error
		if parts[p], err = index.NewResidual(levels...); err != nil {
			return err
		}
	}
	search, err := index.NewProduct(parts...)
	if err != nil {
		return err
	}
	r.codebooks, r.search = codebooks, search
	return nil
}

// NewEncoder prepares the networks alone, for latents before there are codes.
func NewEncoder(backend compute.Backend, t *Tokenizer, set weights.Set) (*Runtime, error) {
	r := &Runtime{tokenizer: t}
	return r, r.compile(backend, set)
}

func (r *Runtime) compile(backend compute.Backend, set weights.Set) (err error) {
	heapguard.Ensure()
	store := model.NewStore()
	r.store = store
	if err := weights.Install(store, set); err != nil {
		return err
	}
	if r.encode, err = model.NewExec(backend, store, func(_ *model.Scope, x *graph.Node) *graph.Node {
		return r.tokenizer.Encode(weights.FromStore(store, x.Graph()), x)
	}); err != nil {
		return err
	}
	if r.decode, err = model.NewExec(backend, store, func(_ *model.Scope, z *graph.Node) *graph.Node {
		return r.tokenizer.network.output(r.tokenizer.Decode(weights.FromStore(store, z.Graph()), z))
	}); err != nil {
		return err
	}
	r.choose, err = model.NewExec(backend, store, func(_ *model.Scope, z *graph.Node) *graph.Node {
		ctx := &vq.Context{Vars: weights.FromStore(store, z.Graph()).In(vq.Prefix)}
		return graph.ConvertDType(r.tokenizer.Quantizer.Build(ctx, z).Index, z.DType()) // exact: below 2^24
	})
	return err
}

// Close releases the engine's copy of the weights and the compiled networks. The
// runtime must not be used afterwards.
func (r *Runtime) Close() {
	r.encode.Finalize()
	r.decode.Finalize()
	r.choose.Finalize()
	r.store.Finalize()
}

// Tokenizer returns the model.
func (r *Runtime) Tokenizer() *Tokenizer { return r.tokenizer }

// Codebooks returns the usable codes of every position.
func (r *Runtime) Codebooks() []*weights.Array { return r.codebooks }
