package transform

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// lowRankMixer is the paper's letter, M = A Bᵀ: all usable codes lie in the span
// of the r rows of Bᵀ E, and A is a table with a row a code.
type lowRankMixer struct{}

func (lowRankMixer) check(c Config, k, _ int) error { return c.checkRank(k) }

func (lowRankMixer) start(c Config, set weights.Set, codes *weights.Array, rng *rand.Rand) error {
	k, d := codes.Shape[0], codes.Shape[1]
	a, b, err := principalFactors(toFloat64(codes.Data), k, d, min(c.Rank, d))
	if err != nil {
		return err
	}
	// Columns beyond the principal directions add nothing yet: A = 0, B random.
	set["mixer/a"] = weights.New(k, c.Rank)
	set["mixer/b"] = weights.Normal(rng, 1/math.Sqrt(float64(k)), c.Rank, k)
	used := min(c.Rank, d)
	for i := range k {
		for r := range used {
			set["mixer/a"].Data[i*c.Rank+r] = float32(a[i*used+r])
			set["mixer/b"].Data[r*k+i] = float32(b[i*used+r])
		}
	}
	return nil
}

// principalFactors returns A = E V and B = E (EᵀE)⁻¹ V, both [k,r], with V [d,r]
// the leading eigenvectors of EᵀE (uncentred), so that A Bᵀ E = E V Vᵀ: E itself
// for r = d. V diagonalises EᵀE, hence B = E V Λ⁻¹; directions that E does not
// have (eigenvalue below 1e-12 of the largest) get B = 0 instead of a division
// by zero, which leaves A Bᵀ E = E V Vᵀ true for rank-deficient E.
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
	basis := multiply(p.get("mixer/b"), p.get("codes"), c.Rank, p.k, p.d)
	return multiply(p.get("mixer/a"), basis, p.k, c.Rank, p.d)
}

func (lowRankMixer) place(c Config, set weights.Set, codes *weights.Array, rows []int, y []float64, _ PlaceMode) ([]Touched, error) {
	p := widen(set, codes)
	basis := multiply(p.get("mixer/b"), p.get("codes"), c.Rank, p.k, p.d)
	a, err := solveRows(basis, c.Rank, p.d, y)
	if err != nil {
		return nil, err
	}
	return store("mixer/a", set["mixer/a"], rows, a), nil
}

func (lowRankMixer) graph(_ Config, v weights.Vars, codes *Node) *Node {
	return nn.Product(v.Get("mixer/a"), nn.Product(v.Get("mixer/b"), codes))
}

func (lowRankMixer) graphRows(_ Config, v weights.Vars, codes, at *Node) *Node {
	return nn.Product(Gather(v.Get("mixer/a"), at), nn.Product(v.Get("mixer/b"), codes))
}
