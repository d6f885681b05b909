package transform

import (
	"math/rand/v2"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// fullMixer learns every entry of M [K,K]; for small K.
type fullMixer struct{}

func (fullMixer) check(Config, int, int) error { return nil }
func (fullMixer) mix(_ Config, p variables) []float64 {
	return multiply(p.get("mixer/m"), p.get("codes"), p.k, p.k, p.d)
}

func (fullMixer) start(_ Config, set weights.Set, codes *weights.Array, _ *rand.Rand) error {
	set["mixer/m"] = weights.Eye(codes.Shape[0])
	return nil
}

func (fullMixer) place(c Config, set weights.Set, codes *weights.Array, rows []int, y []float64, _ PlaceMode) ([]Touched, error) {
	return placeBlocks(c, set, codes, rows, y, codes.Shape[0])
}

// placeBlocks places codes under a block-diagonal M with blocks of the given
// size, stored as rows of that width: by the codes when they are trained, by the
// rows of M when they are frozen.
func placeBlocks(c Config, set weights.Set, codes *weights.Array, rows []int, y []float64, size int) ([]Touched, error) {
	if c.Joint {
		return placeBySweep(set, codes, rows, y, func(p variables) rowMixer {
			return blockRows{p.get("mixer/m"), p.get("codes"), p.k, p.d, size}
		})
	}
	p := widen(set, codes)
	b := blockRows{p.get("mixer/m"), p.get("codes"), p.k, p.d, size}
	mixing := make([]float64, 0, len(rows)*size)
	x := make([]float64, p.d)
	for n, i := range rows {
		b.row(i, x)
		miss := y[n*p.d : (n+1)*p.d]
		addScaled(miss, -1, x)
		first, last := b.block(i)
		change, err := solveRows(p.get("codes")[first*p.d:last*p.d], last-first, p.d, miss)
		if err != nil {
			return nil, err
		}
		row := append([]float64(nil), p.get("mixer/m")[i*size:(i+1)*size]...)
		addScaled(row[:last-first], 1, change)
		mixing = append(mixing, row...)
	}
	return store("mixer/m", set["mixer/m"], rows, mixing), nil
}

// blockRows evaluates rows of a block-diagonal M E.
type blockRows struct {
	m, codes   []float64
	k, d, size int
}

// block returns the codes [first, last) of the block of code i.
func (b blockRows) block(i int) (first, last int) {
	first = i / b.size * b.size
	return first, min(first+b.size, b.k)
}

func (b blockRows) row(i int, x []float64) float64 {
	clear(x)
	first, last := b.block(i)
	for j := first; j < last; j++ {
		addScaled(x, b.m[i*b.size+j-first], b.codes[j*b.d:(j+1)*b.d])
	}
	return b.m[i*b.size+i-first]
}

func (b blockRows) moved(int, []float64) {}

// graph multiplies by M [K,K]; the gradient of M is another [K,K].
func (fullMixer) graph(_ Config, v weights.Vars, codes *Node) *Node {
	return nn.Product(v.Get("mixer/m"), codes)
}

func (fullMixer) graphRows(_ Config, v weights.Vars, codes, at *Node) *Node {
	return nn.Product(Gather(v.Get("mixer/m"), at), codes)
}
