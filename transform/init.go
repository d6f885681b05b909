package transform

import (
	"fmt"
	"math/rand/v2"

	"github.com/gritvq/gritvq/weights"
)

// Init returns the transform's variables for codes [K,d]: everything except the
// codes themselves. gain is the initial row length when RowNorm is gain (the
// mean length of the latents); rng draws random values.
//
// Every kind with FeatureMap starts at W = I. identity, linear, full and grouped
// start at C' = E exactly; lowrank at the projection of E on its Rank principal
// directions (E itself for Rank >= d); the attention kinds give a code the
// weight Diagonal and the rest to others. Row normalisation then applies.
func (c Config) Init(codes *weights.Array, gain float64, rng *rand.Rand) (weights.Set, error) {
	if len(codes.Shape) != 2 {
		return nil, fmt.Errorf("codes have shape %v: a transform needs a matrix of codes [K,d]", codes.Shape)
	}
	k, d := codes.Shape[0], codes.Shape[1]
	if err := c.Validate(k, d); err != nil {
		return nil, err
	}
	set := weights.Set{}
	if err := c.mixer().start(c, set, codes, rng); err != nil {
		return nil, err
	}
	if c.hasFeature() {
		set["feature/w"] = weights.Eye(d)
		if c.SpectralClip > 0 {
			set["state/feature_u"] = weights.Normal(rng, 1, d)
		}
	}
	if c.RowNorm == RowNormGain {
		if !(gain > 0) {
			return nil, fmt.Errorf("the initial gain is %g: row_norm gain needs the mean length of the latents", gain)
		}
		set["feature/gain"] = weights.Full(float32(gain), 1)
	}
	return set, nil
}

// Refreshes says whether the transform has state that follows the raw codes.
func (c Config) Refreshes() bool {
	_, ok := c.mixer().(refresher)
	return ok
}

// Refresh brings state that follows the raw codes up to date: the neighbours of
// attention-topk. It does nothing for the other kinds. Call it where the cached
// C' is rebuilt; between calls a row keeps its neighbours.
func (c Config) Refresh(set weights.Set, codes *weights.Array) error {
	if r, ok := c.mixer().(refresher); ok {
		return r.refresh(c, set, codes)
	}
	return nil
}
