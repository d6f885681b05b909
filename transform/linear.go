package transform

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// linearMixer is identity plus low rank, M = I + A Bᵀ. With Joint it mixes a
// frozen copy of the codes, M E := E + A Bᵀ E0, so that moving one raw code
// moves one usable code.
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
	source := "codes"
	if c.Joint {
		source = "state/source"
	}
	return multiply(p.get("mixer/b"), p.get(source), c.Rank, p.k, p.d)
}

func (m linearMixer) mix(c Config, p variables) []float64 {
	x := slices.Clone(p.get("codes"))
	addScaled(x, 1, multiply(p.get("mixer/a"), m.basis(c, p), p.k, c.Rank, p.d))
	return x
}

func (m linearMixer) place(c Config, set weights.Set, codes *weights.Array, rows []int, y []float64, mode PlaceMode) ([]Touched, error) {
	p := widen(set, codes)
	basis := m.basis(c, p)
	if !c.Joint {
		for n, i := range rows {
			addScaled(y[n*p.d:(n+1)*p.d], -1, p.get("codes")[i*p.d:(i+1)*p.d])
		}
		a, err := solveRows(basis, c.Rank, p.d, y)
		if err != nil {
			return nil, err
		}
		return store("mixer/a", set["mixer/a"], rows, a), nil
	}
	if mode == Average {
		for n, i := range rows {
			for r, weight := range p.get("mixer/a")[i*c.Rank : (i+1)*c.Rank] {
				addScaled(y[n*p.d:(n+1)*p.d], -weight, basis[r*p.d:(r+1)*p.d])
			}
		}
		return store("codes", codes, rows, y), nil
	}
	touched := store("mixer/a", set["mixer/a"], rows, make([]float64, len(rows)*c.Rank))
	return append(touched, store("codes", codes, rows, y)...), nil
}

// graph computes E + A (Bᵀ E0); W follows in one product. Against the order
// E W + A((Bᵀ E0) W) that saves two products backward, a fifth of the time at
// K = 1024, d = 64, r = 32.
func (m linearMixer) graph(c Config, v weights.Vars, codes *Node) *Node {
	return Add(codes, nn.Product(v.Get("mixer/a"), m.graphBasis(c, v, codes)))
}

func (m linearMixer) graphRows(c Config, v weights.Vars, codes, at *Node) *Node {
	return Add(Gather(codes, at), nn.Product(Gather(v.Get("mixer/a"), at), m.graphBasis(c, v, codes)))
}

// graphBasis returns Bᵀ E0 [r,d], with E0 = E when the codes are frozen: never
// trained, so that the derived gradient (of B alone) is the cheap one.
func (linearMixer) graphBasis(c Config, v weights.Vars, codes *Node) *Node {
	source := codes
	if c.Joint {
		source = StopGradient(v.Get("state/source"))
	}
	return Dot(v.Get("mixer/b"), source).Product()
}
