package vq

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gritvq/gritvq/weights"
)

// imported is a residual quantizer whose codes start from given ones.
type imported struct {
	*Residual
	codes []*weights.Array
}

// importable is a level whose variables can be made for given codes: a
// [codebook] or a level that embeds one.
type importable interface {
	init(codes *weights.Array, counts []int, gain float64, rng *rand.Rand) (weights.Set, error)
}

// StartFrom returns q with given first codes [K,d] for every level instead of
// codes placed on latents. Everything derived from the codes follows them. It
// fails for a product of parts and on codes of another number or shape.
func StartFrom(q Quantizer, codes []*weights.Array) (Quantizer, error) {
	r, ok := q.(*Residual)
	if !ok {
		return nil, fmt.Errorf("a codebook can be imported for one part only, the quantizer has %d", q.Layout().Parts)
	}
	if _, ok := r.levels[0].(importable); !ok || r.method.Classical != nil {
		return nil, fmt.Errorf("method %s has no codebook to import into", r.config.Method)
	}
	if books := len(r.layout.Books()); len(codes) != books {
		return nil, fmt.Errorf("%d codebooks were given, the quantizer has %d", len(codes), books)
	}
	for l, c := range codes {
		if want := []int{r.config.Codes, r.layout.Dim}; !slices.Equal(c.Shape, want) {
			return nil, fmt.Errorf("the codebook of level %d has shape %v, the quantizer needs %v", l, c.Shape, want)
		}
	}
	return imported{r, codes}, nil
}

// Init implements [Quantizer].
func (q imported) Init(sample Latents, rng *rand.Rand) (weights.Set, error) {
	set, err := q.Residual.Init(sample, rng)
	if err != nil {
		return nil, err
	}
	for l, codes := range q.codes {
		level, path := q.at(l)
		vars, err := level.(importable).init(codes.Clone(), nil, max(rowsOf(codes).meanNorm(), 1e-3), rng)
		if err != nil {
			return nil, fmt.Errorf("importing level %d: %w", l, err)
		}
		set.Merge(path, vars)
	}
	return set, nil
}
