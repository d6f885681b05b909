package transform

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gritvq/gritvq/weights"
)

// Init returns the transform's variables for codes [K,d], without the codes. gain
// is the initial row length when RowNorm is gain (the mean length of the latents).
//
// W starts at I. identity, linear, full and grouped start at C' = E; lowrank at the
// projection of E on its Rank principal directions (E itself for Rank >= d),
// attention-rownorm at the same with lengths made more equal; the other
// attention kinds give a code the weight Diagonal and the rest to others. Row
// normalisation then applies.
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

// Refresh brings state that follows the raw codes up to date, the neighbours of
// attention-topk; the other kinds have none.
func (c Config) Refresh(set weights.Set, codes *weights.Array) error {
	if r, ok := c.mixer().(refresher); ok {
		return r.refresh(c, set, codes)
	}
	return nil
}

// zeroNorm is the length below which normalisation leaves a row and its gradient alone.
const zeroNorm = 1e-12

// variables are a transform's variables in float64, codes included, by path.
type variables struct {
	k, d   int
	values map[string][]float64
}

func widen(set weights.Set, codes *weights.Array) variables {
	p := variables{k: codes.Shape[0], d: codes.Shape[1], values: map[string][]float64{"codes": toFloat64(codes.Data)}}
	for path, a := range set {
		p.values[path] = toFloat64(a.Data)
	}
	return p
}

func (p variables) get(path string) []float64 {
	v, ok := p.values[path]
	if !ok {
		panic(fmt.Errorf("variable %q is not in the set", path))
	}
	return v
}

// Usable returns C' [K,d], row-major, in float64. set holds the variables of
// [Config.Init]; it panics when one is missing.
func (c Config) Usable(set weights.Set, codes *weights.Array) []float64 {
	return c.usable(widen(set, codes))
}

func (c Config) usable(p variables) []float64 {
	x := c.mixer().mix(c, p)
	if c.hasFeature() {
		x = multiply(x, p.get("feature/w"), p.k, p.d, p.d)
	}
	if c.RowNorm == RowNormNone {
		return x
	}
	gain := 1.0
	if c.RowNorm == RowNormGain {
		gain = p.get("feature/gain")[0]
	}
	for i := range p.k {
		row := x[i*p.d : (i+1)*p.d]
		length := math.Sqrt(dot(row, row))
		if length < zeroNorm {
			length = 1
		}
		for j := range row {
			row[j] *= gain / length
		}
	}
	return x
}

func toFloat64(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

// addScaled adds scale*x to y.
func addScaled(y []float64, scale float64, x []float64) {
	for i, v := range x {
		y[i] += scale * v
	}
}

// multiply returns a [n,m] times b [m,l].
func multiply(a, b []float64, n, m, l int) []float64 {
	out := make([]float64, n*l)
	for i := range n {
		for j := range m {
			addScaled(out[i*l:(i+1)*l], a[i*m+j], b[j*l:(j+1)*l])
		}
	}
	return out
}

// multiplyTransposed returns the transpose of a [n,m] times b [n,l]: [m,l].
func multiplyTransposed(a, b []float64, n, m, l int) []float64 {
	out := make([]float64, m*l)
	for i := range n {
		for j := range m {
			addScaled(out[j*l:(j+1)*l], a[i*m+j], b[i*l:(i+1)*l])
		}
	}
	return out
}

// softmax replaces logits by their softmax.
func softmax(logits []float64) {
	top, sum := slices.Max(logits), 0.0
	for i, l := range logits {
		logits[i] = math.Exp(l - top)
		sum += logits[i]
	}
	for i := range logits {
		logits[i] /= sum
	}
}
