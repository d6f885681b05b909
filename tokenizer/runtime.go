package tokenizer

import (
	"context"
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
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

// blockPixels bounds the pictures the engine sees at a time, by their pixels.
const blockPixels = 1 << 20

// block is the number of items the engine sees at a time.
func (t *Tokenizer) block() int {
	if c := t.Spec.Model.Image; t.Spec.Model.Pictures() {
		return min(64, max(1, blockPixels/(c.Size*c.Size)))
	}
	return BlockRows
}

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
		return t.Quantizer.Codebooks(&vq.Context{Vars: weights.FromStore(store, g).In("quantizer")})
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

// Update exchanges variables and usable codebooks for others of the same
// tokenizer without compiling its programs again; without codebooks only the
// networks can be used. Nothing else may use the runtime meanwhile.
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
		y := r.tokenizer.Decode(weights.FromStore(store, z.Graph()), z)
		if r.tokenizer.Spec.Model.Pictures() {
			y = graph.ConvertDType(graph.AddScalar(y, 0.5), dtypes.Uint8) // the nearest value
		}
		return y
	}); err != nil {
		return err
	}
	r.choose, err = model.NewExec(backend, store, func(_ *model.Scope, z *graph.Node) *graph.Node {
		ctx := &vq.Context{Vars: weights.FromStore(store, z.Graph()).In("quantizer")}
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

// Options bounds an encoding.
type Options struct {
	Levels  int // leading levels to use; 0 means all
	Beam    int // partial encodings kept from level to level; 1 is greedy, 0 the method's own choice
	Workers int // host threads; 0 means all
}

// Positions is the number of codes per vector under the options.
func (r *Runtime) Positions(o Options) int {
	layout := r.tokenizer.Quantizer.Layout()
	if o.Levels == 0 {
		return layout.Positions()
	}
	return layout.Parts * o.Levels
}

// Latents maps vectors [n*Input] to latents [n*Dim].
func (r *Runtime) Latents(ctx context.Context, x []float32, n int) ([]float32, error) {
	if err := r.expect(false); err != nil {
		return nil, err
	}
	return run[float32, float32](ctx, r.encode, x, n, BlockRows, []int{r.tokenizer.Input}, r.tokenizer.Dim())
}

// PictureLatents maps n pictures [n*size*size*3] to latents [n*Tokens*Dim].
func (r *Runtime) PictureLatents(ctx context.Context, pixels []uint8, n int) ([]float32, error) {
	if err := r.expect(true); err != nil {
		return nil, err
	}
	t := r.tokenizer
	return run[uint8, float32](ctx, r.encode, pixels, n, t.block(), []int{t.Spec.Model.Image.Size, t.Spec.Model.Image.Size, 3}, t.Tokens()*t.Dim())
}

// expect refuses items of the other kind.
func (r *Runtime) expect(pictures bool) error {
	if r.tokenizer.Spec.Model.Pictures() == pictures {
		return nil
	}
	if pictures {
		return fmt.Errorf("this is a tokenizer of vectors, not of pictures")
	}
	return fmt.Errorf("this is a tokenizer of pictures, not of vectors")
}

// Encode maps vectors [n*Input] to codes [n*Positions].
func (r *Runtime) Encode(ctx context.Context, x []float32, n int, o Options) ([]uint32, error) {
	if err := r.checkLevels(o); err != nil {
		return nil, err
	}
	z, err := r.Latents(ctx, x, n)
	if err != nil {
		return nil, err
	}
	return r.Assign(ctx, z, n, o)
}

// EncodePictures maps n pictures [n*size*size*3] to codes [n*Tokens*Positions],
// the cells of a picture's grid row by row.
func (r *Runtime) EncodePictures(ctx context.Context, pixels []uint8, n int, o Options) ([]uint32, error) {
	if err := r.checkLevels(o); err != nil {
		return nil, err
	}
	z, err := r.PictureLatents(ctx, pixels, n)
	if err != nil {
		return nil, err
	}
	return r.Assign(ctx, z, n*r.tokenizer.Tokens(), o)
}

func (r *Runtime) checkLevels(o Options) error {
	if levels := r.tokenizer.Quantizer.Layout().Levels; o.Levels < 0 || o.Levels > levels {
		return fmt.Errorf("%d levels were asked for, the tokenizer has %d; use 1 to %d, or 0 for all", o.Levels, levels, levels)
	}
	return nil
}

// Assign finds the codes of n latents [n,d]. A beam needs a quantizer whose
// codes are the nearest ones; others choose their codes one way only.
func (r *Runtime) Assign(ctx context.Context, z []float32, n int, o Options) ([]uint32, error) {
	layout := r.tokenizer.Quantizer.Layout()
	levels := o.Levels
	if levels == 0 {
		levels = layout.Levels
	}
	codes := make([]uint32, n*layout.Parts*levels)
	if vq.Searchable(r.tokenizer.Quantizer) {
		beam := o.Beam
		if beam == 0 {
			beam = r.tokenizer.beam
		}
		r.search.Encode(z, n, levels, max(1, beam), codes, o.Workers)
		return codes, nil
	}
	if o.Beam > 1 {
		return nil, fmt.Errorf("this quantizer does not search for nearest codes, so a beam of %d cannot improve on its choice; leave --beam out", o.Beam)
	}
	all, err := run[float32, float32](ctx, r.choose, z, n, BlockRows, []int{layout.Dim}, layout.Positions())
	if err != nil {
		return nil, err
	}
	for row := range n { // leading levels of each part
		for position := range layout.Parts * levels {
			at := position/levels*layout.Levels + position%levels
			codes[row*layout.Parts*levels+position] = uint32(all[row*layout.Positions()+at])
		}
	}
	return codes, nil
}

// Decode maps codes [n*positions] to vectors [n*Input]; fewer positions than the
// tokenizer has are its leading levels.
func (r *Runtime) Decode(ctx context.Context, codes []uint32, n, positions int) ([]float32, error) {
	if err := r.expect(false); err != nil {
		return nil, err
	}
	z, err := r.LookUp(codes, n, positions)
	if err != nil {
		return nil, err
	}
	return run[float32, float32](ctx, r.decode, z, n, BlockRows, []int{r.tokenizer.Dim()}, r.tokenizer.Input)
}

// DecodePictures maps codes [n*Tokens*positions] to n pictures [n*size*size*3].
func (r *Runtime) DecodePictures(ctx context.Context, codes []uint32, n, positions int) ([]uint8, error) {
	if err := r.expect(true); err != nil {
		return nil, err
	}
	t := r.tokenizer
	z, err := r.LookUp(codes, n*t.Tokens(), positions)
	if err != nil {
		return nil, err
	}
	return run[float32, uint8](ctx, r.decode, z, n, t.block(), []int{t.Tokens() * t.Dim()}, t.Input)
}

// LookUp maps codes [n*positions] to quantized latents [n*Dim].
func (r *Runtime) LookUp(codes []uint32, n, positions int) ([]float32, error) {
	layout := r.tokenizer.Quantizer.Layout()
	if positions < 1 || positions%layout.Parts != 0 || positions > layout.Positions() {
		return nil, fmt.Errorf("%d codes a vector do not fit this tokenizer of %d parts x %d levels", positions, layout.Parts, layout.Levels)
	}
	if len(codes) != n*positions {
		return nil, fmt.Errorf("got %d codes for %d rows of %d", len(codes), n, positions)
	}
	levels := positions / layout.Parts
	for i, code := range codes {
		vocab := layout.Vocab[(i%positions)/levels*layout.Levels+(i%positions)%levels]
		if int(code) >= vocab {
			return nil, fmt.Errorf("row %d holds code %d where the tokenizer has %d codes", i/positions, code, vocab)
		}
	}
	z := make([]float32, n*layout.Dim)
	return z, r.search.Decode(codes, n, levels, z)
}

// run passes n items of the given shape through an executable, block by block,
// and returns out values for each.
func run[In, Out uint8 | float32](ctx context.Context, exec *model.Exec, items []In, n, block int, shape []int, out int) ([]Out, error) {
	in := 1
	for _, d := range shape {
		in *= d
	}
	if len(items) != n*in {
		return nil, fmt.Errorf("got %d values for %d rows of dimension %d", len(items), n, in)
	}
	result := make([]Out, n*out)
	for start := 0; start < n; start += block {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		count := min(block, n-start)
		padded := make([]In, block*in)
		copy(padded, items[start*in:(start+count)*in])
		value, err := exec.Call1(tensors.FromFlatDataAndDimensions(padded, append([]int{block}, shape...)...))
		if err != nil {
			return nil, fmt.Errorf("running the network: %w", err)
		}
		err = tensors.ConstFlatData(value, func(flat []Out) {
			copy(result[start*out:(start+count)*out], flat)
		})
		if err != nil {
			return nil, err
		}
		if err := value.FinalizeAll(); err != nil {
			return nil, err
		}
	}
	return result, nil
}
