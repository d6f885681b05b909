package transform

import (
	"fmt"
	"math/rand/v2"

	"github.com/gritvq/gritvq/weights"
)

// groupedMixer learns a block-diagonal M: consecutive codes form groups of
// ceil(K/Groups), the last one holding the rest. M is stored as its rows,
// [blocks*size, size]; rows and columns past the last code are padding.
type groupedMixer struct{}

// shape returns the size of a block and how many there are.
func (groupedMixer) shape(c Config, k int) (size, blocks int) {
	size = (k + c.Groups - 1) / c.Groups
	return size, (k + size - 1) / size
}

func (groupedMixer) check(c Config, k, _ int) error {
	if c.Groups < 1 || c.Groups > k {
		return fmt.Errorf("groups is %d: use 1 to the number of codes, %d", c.Groups, k)
	}
	return nil
}

func (m groupedMixer) parameters(c Config, k, _ int) int {
	size, blocks := m.shape(c, k)
	return blocks * size * size
}

func (m groupedMixer) start(c Config, set weights.Set, codes *weights.Array, _ *rand.Rand) error {
	size, blocks := m.shape(c, codes.Shape[0])
	mixing := weights.New(blocks*size, size)
	for i := range blocks * size {
		mixing.Data[i*size+i%size] = 1
	}
	set["mixer/m"] = mixing
	return nil
}

func (m groupedMixer) mix(c Config, p variables) []float64 {
	size, _ := m.shape(c, p.k)
	rows := blockRows{p.get("mixer/m"), p.get("codes"), p.k, p.d, size}
	x := make([]float64, p.k*p.d)
	for i := range p.k {
		rows.row(i, x[i*p.d:(i+1)*p.d])
	}
	return x
}

func (m groupedMixer) place(c Config, set weights.Set, codes *weights.Array, rows []int, y []float64, _ PlaceMode) ([]Touched, error) {
	size, _ := m.shape(c, codes.Shape[0])
	return placeBlocks(c, set, codes, rows, y, size)
}
