package tokenizer

import (
	"cmp"
	"context"
	"fmt"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/vq"
)

// Options bounds an encoding.
type Options struct {
	Levels  int // leading levels to use; 0 means all
	Beam    int // partial encodings kept from level to level; 1 is greedy, 0 the method's own choice
	Workers int // host threads; 0 means all
	// Curve also scores the points of the curve through the codes (see [vq.Curve]).
	Curve bool
}

// Positions is the number of codes per vector under the options.
func (r *Runtime) Positions(o Options) int {
	return len(r.tokenizer.Quantizer.Layout().VocabOf(o.Levels))
}

// Latents maps items to latents [N*Tokens*Dim].
func (r *Runtime) Latents(ctx context.Context, x dataset.Batch) ([]float32, error) {
	t := r.tokenizer
	block, out := t.modality.block(), t.Tokens()*t.Dim()
	if x.N > 0 && (x.Pixels != nil) != t.modality.pixels() {
		return nil, fmt.Errorf("a tokenizer of %s was given items of another kind", t.modality.Kind())
	}
	if x.Pixels != nil {
		return run[uint8, float32](ctx, r.encode, x.Pixels, x.N, block, t.shape, out)
	}
	return run[float32, float32](ctx, r.encode, x.Values, x.N, block, t.shape, out)
}

// Encode maps items to codes [N*Tokens*Positions], tokens in the order of the latents.
func (r *Runtime) Encode(ctx context.Context, x dataset.Batch, o Options) ([]uint32, error) {
	if levels := r.tokenizer.Quantizer.Layout().Levels; o.Levels < 0 || o.Levels > levels {
		return nil, fmt.Errorf("%d levels were asked for, the tokenizer has %d; use 1 to %d, or 0 for all", o.Levels, levels, levels)
	}
	z, err := r.Latents(ctx, x)
	if err != nil {
		return nil, err
	}
	return r.Assign(ctx, z, r.tokenizer.Cells(x.N), o)
}

// checkBeam fails if a search with a beam needs more memory than there is in one thread: every encoding of the rows that it
// searches for at a time has two residuals, two paths and three numbers more.
func checkBeam(l vq.Layout, beam int) error {
	const rows = 8
	return memory.Check(fmt.Sprintf("a beam of %d encodings", beam), beam, 8*(l.Dim+l.Levels)+12, rows)
}

// Assign finds the codes of latents [cells.Len(),d]. A beam needs a quantizer that takes the nearest codes.
func (r *Runtime) Assign(ctx context.Context, z []float32, cells Cells, o Options) ([]uint32, error) {
	layout := r.tokenizer.Quantizer.Layout()
	n, levels := cells.Len(), cmp.Or(o.Levels, layout.Levels)
	if len(z) != n*layout.Dim {
		return nil, fmt.Errorf("got %d values for %d rows of dimension %d", len(z), n, layout.Dim)
	}
	beam := max(1, cmp.Or(o.Beam, r.tokenizer.Spec.Quantizer.Beam))
	if err := checkBeam(layout, beam); err != nil {
		return nil, err
	}
	codes := make([]uint32, n*layout.Parts*levels)
	switch {
	case r.phases != nil:
		return codes, r.assignPhases(ctx, z, cells, levels, beam, codes, o.Workers)
	case vq.Searchable(r.tokenizer.Quantizer):
		r.search.Encode(z, n, levels, beam, codes, o.Workers)
		return codes, nil
	}
	if o.Beam > 1 {
		return nil, fmt.Errorf("this quantizer does not search for nearest codes, so a beam of %d cannot improve on its choice; leave --beam out",
			o.Beam)
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

// Quantized maps items to the latents [N*Tokens*Dim] that their codes decode from.
func (r *Runtime) Quantized(ctx context.Context, x dataset.Batch, o Options) ([]float32, error) {
	codes, err := r.Encode(ctx, x, o)
	if err != nil {
		return nil, err
	}
	return r.LookUp(ctx, codes, r.tokenizer.Cells(x.N), r.Positions(o))
}

// Decode maps codes [n*Tokens*positions] to n items; fewer positions are the leading levels.
func (r *Runtime) Decode(ctx context.Context, codes []uint32, n, positions int) (dataset.Batch, error) {
	z, err := r.LookUp(ctx, codes, r.tokenizer.Cells(n), positions)
	if err != nil {
		return dataset.Batch{}, err
	}
	return r.decodeLatents(ctx, z, n, positions)
}

// decodeLatents maps quantized latents of so many codes each to n items.
func (r *Runtime) decodeLatents(ctx context.Context, z []float32, n, positions int) (dataset.Batch, error) {
	if r.tokenizer.Refines() && !r.refines(positions) {
		return r.reconstruct(ctx, r.unrefined, z, n)
	}
	return r.Reconstruct(ctx, z, n)
}

// refines says whether the decoder refines the vectors of so many codes.
func (r *Runtime) refines(positions int) bool {
	return r.tokenizer.Refines() && positions == r.tokenizer.Quantizer.Layout().Positions()
}

// Reconstruct maps quantized latents [n*Tokens*Dim] of all levels to n items.
func (r *Runtime) Reconstruct(ctx context.Context, z []float32, n int) (x dataset.Batch, err error) {
	return r.reconstruct(ctx, r.decode, z, n)
}

func (r *Runtime) reconstruct(ctx context.Context, decode *model.Exec, z []float32, n int) (x dataset.Batch, err error) {
	t := r.tokenizer
	x.N = n
	block, shape := t.modality.block(), []int{t.Tokens() * t.Dim()}
	if t.modality.pixels() {
		x.Pixels, err = run[float32, uint8](ctx, decode, z, n, block, shape, t.Input)
	} else {
		x.Values, err = run[float32, float32](ctx, decode, z, n, block, shape, t.Input)
	}
	return x, err
}

// LookUp maps codes [cells.Len()*positions] to quantized latents [cells.Len()*Dim].
func (r *Runtime) LookUp(ctx context.Context, codes []uint32, cells Cells, positions int) ([]float32, error) {
	layout, n := r.tokenizer.Quantizer.Layout(), cells.Len()
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
	if r.phases != nil {
		return r.lookUpPhases(ctx, codes, cells, levels)
	}
	z := make([]float32, n*layout.Dim)
	return z, r.search.Decode(codes, n, levels, z)
}

// run passes n items of a shape through an executable, block by block, and returns out values for each.
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
