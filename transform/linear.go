package transform

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// identityMixer is the codebook without a transform: C' = E.
type identityMixer struct{}

func (identityMixer) check(Config, int, int) error        { return nil }
func (identityMixer) mix(_ Config, p variables) []float64 { return slices.Clone(p.get("codes")) }

func (identityMixer) start(Config, weights.Set, *weights.Array, *rand.Rand) error { return nil }

func (identityMixer) place(_ Config, _ weights.Set, codes *weights.Array, rows []int, y []float64) ([]Touched, error) {
	return store("codes", codes, rows, y), nil
}

func (identityMixer) graph(_ Config, _ weights.Vars, codes, at *Node) *Node {
	return gathered(codes, at)
}

// linearMixer is identity plus low rank, M = I + A Bᵀ. With Joint it mixes a frozen
// copy of the codes, M E := E + A Bᵀ E0: moving a raw code moves one usable code.
type linearMixer struct{}

func (linearMixer) check(c Config, k, _ int) error { return c.checkRank(k) }

func (linearMixer) start(c Config, set weights.Set, codes *weights.Array, rng *rand.Rand) error {
	k := codes.Shape[0]
	set["mixer/a"] = weights.New(k, c.Rank)
	set["mixer/b"] = weights.Normal(rng, 1/math.Sqrt(float64(k)), c.Rank, k)
	if c.Joint {
		set["state/source"] = codes.Clone()
	}
	return nil
}

// basis returns Bᵀ E0 [r,d], whose rows A combines.
func (linearMixer) basis(c Config, p variables) []float64 {
	if c.Joint {
		return p.basis(c, "state/source")
	}
	return p.basis(c, "codes")
}

// basis returns Bᵀ times codes, [r,d].
func (p variables) basis(c Config, source string) []float64 {
	return multiply(p.get("mixer/b"), p.get(source), c.Rank, p.k, p.d)
}

func (m linearMixer) mix(c Config, p variables) []float64 {
	x := slices.Clone(p.get("codes"))
	addScaled(x, 1, multiply(p.get("mixer/a"), m.basis(c, p), p.k, c.Rank, p.d))
	return x
}

func (m linearMixer) place(c Config, set weights.Set, codes *weights.Array, rows []int, y []float64) ([]Touched, error) {
	if !c.Joint {
		p := widen(set, codes)
		for n, i := range rows {
			addScaled(y[n*p.d:(n+1)*p.d], -1, p.get("codes")[i*p.d:(i+1)*p.d])
		}
		return placeByA(c, set, rows, y, m.basis(c, p), p.d)
	}
	touched := store("mixer/a", set["mixer/a"], rows, make([]float64, len(rows)*c.Rank))
	return append(touched, store("codes", codes, rows, y)...), nil
}

// placeByA solves A_i basis = y_i for rows of A.
func placeByA(c Config, set weights.Set, rows []int, y, basis []float64, d int) ([]Touched, error) {
	a, err := solveRows(basis, c.Rank, d, y)
	if err != nil {
		return nil, err
	}
	return store("mixer/a", set["mixer/a"], rows, a), nil
}

// graph computes E + A (Bᵀ E0); W follows in one product. Against the order
// E W + A((Bᵀ E0) W) that saves two products backward, a fifth of the time at
// K = 1024, d = 64, r = 32.
func (linearMixer) graph(c Config, v weights.Vars, codes, at *Node) *Node {
	own, a := gathered(codes, at), gathered(v.Get("mixer/a"), at)
	if c.Joint {
		codes = StopGradient(v.Get("state/source"))
	}
	// E0 is not trained, so the derived gradient, of B alone, is the cheap one.
	return Add(own, nn.Product(a, Dot(v.Get("mixer/b"), codes).Product()))
}

// lowRankMixer is the paper's letter, M = A Bᵀ: all usable codes lie in the span
// of the r rows of Bᵀ E, and A is a table with a row a code.
type lowRankMixer struct{}

func (lowRankMixer) check(c Config, k, _ int) error { return c.checkRank(k) }

func (lowRankMixer) start(c Config, set weights.Set, codes *weights.Array, rng *rand.Rand) error {
	k, d := codes.Shape[0], codes.Shape[1]
	used := min(c.Rank, d)
	a, b, err := principalFactors(toFloat64(codes.Data), k, d, used)
	if err != nil {
		return err
	}
	// Columns beyond the principal directions add nothing yet: A = 0, B random.
	set["mixer/a"] = weights.New(k, c.Rank)
	set["mixer/b"] = weights.Normal(rng, 1/math.Sqrt(float64(k)), c.Rank, k)
	for i := range k {
		for r := range used {
			set["mixer/a"].Data[i*c.Rank+r] = float32(a[i*used+r])
			set["mixer/b"].Data[r*k+i] = float32(b[i*used+r])
		}
	}
	return nil
}

// principalFactors returns A = E V and B = E V Λ⁻¹, both [k,r], with the leading
// eigenvectors V [d,r] and eigenvalues Λ of EᵀE (uncentred), so that
// A Bᵀ E = E V Vᵀ: E itself for r = d. Eigenvalues below 1e-12 of the largest are
// directions E does not have; B = 0 keeps the equation for rank-deficient E.
func principalFactors(codes []float64, k, d, r int) (a, b []float64, err error) {
	gram := multiplyTransposed(codes, codes, k, d, d)
	var eigen mat.EigenSym
	if !eigen.Factorize(mat.NewSymDense(d, gram), true) {
		return nil, nil, fmt.Errorf("the codes have no principal directions: check that they are finite")
	}
	values := eigen.Values(nil) // ascending
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	leading := make([]float64, d*r)
	for i := range d {
		for j := range r {
			leading[i*r+j] = vectors.At(i, d-1-j)
		}
	}
	a = multiply(codes, leading, k, d, r)
	b = make([]float64, k*r)
	for j := range r {
		value := values[d-1-j]
		if value <= 1e-12*values[d-1] || value <= 0 {
			continue
		}
		for i := range k {
			b[i*r+j] = a[i*r+j] / value
		}
	}
	return a, b, nil
}

func (lowRankMixer) mix(c Config, p variables) []float64 {
	return multiply(p.get("mixer/a"), p.basis(c, "codes"), p.k, c.Rank, p.d)
}

func (lowRankMixer) place(c Config, set weights.Set, codes *weights.Array, rows []int, y []float64) ([]Touched, error) {
	p := widen(set, codes)
	return placeByA(c, set, rows, y, p.basis(c, "codes"), p.d)
}

func (lowRankMixer) graph(_ Config, v weights.Vars, codes, at *Node) *Node {
	return nn.Product(gathered(v.Get("mixer/a"), at), nn.Product(v.Get("mixer/b"), codes))
}
