package classical

import (
	"fmt"
	"math"
	"sync"

	"github.com/gritvq/gritvq/weights"
)

// table is a sparse matrix: row i holds the items[offsets[i]:offsets[i+1]], ascending,
// and their values.
type table struct {
	offsets []int
	items   []int32
	values  []float32
}

func (t *table) row(i int32) ([]int32, []float32) {
	from, to := t.offsets[i], t.offsets[i+1]
	return t.items[from:to], t.values[from:to]
}

// Neighbours scores items by a weighted sum over the rows of a history in a table
// from items to items.
type Neighbours struct {
	table
	scales []float32 // [items] factor of each row; nil: 1
	Weighting
}

// Score sums rows. An item of the history that comes twice counts twice. Sums are
// taken in float64 and rounded, so that the order of equal summands does not matter.
func (n *Neighbours) Score(history []int32, scores []float32) {
	sums := borrow(len(scores))
	n.visit(history, func(item int32, weight float64) {
		items, values := n.row(item)
		if n.scales != nil {
			weight *= float64(n.scales[item])
		}
		for at, other := range items {
			sums[other] += weight * float64(values[at])
		}
	})
	giveBack(sums, scores)
}

// visit calls for every place of a history that counts, the last one first.
func (w Weighting) visit(history []int32, do func(item int32, weight float64)) {
	places := len(history)
	if w.Last > 0 {
		places = min(places, w.Last)
	}
	for k := 1; k <= places; k++ {
		do(history[len(history)-k], reciprocal(float64(k), w.Decay))
	}
}

// reciprocal is x^-power. It spares math.Pow where the power is a usual one.
func reciprocal(x, power float64) float64 {
	switch power {
	case 0:
		return 1
	case 0.5:
		return 1 / math.Sqrt(x)
	case 1:
		return 1 / x
	}
	return math.Pow(x, -power)
}

var sumsPool = sync.Pool{New: func() any { return []float64(nil) }}

// borrow returns n zeros.
func borrow(n int) []float64 {
	sums := sumsPool.Get().([]float64)
	if cap(sums) < n {
		sums = make([]float64, n)
	}
	return sums[:n]
}

// giveBack rounds sums to scores and returns their memory, as zeros.
func giveBack(sums []float64, scores []float32) {
	for i, x := range sums {
		scores[i] = float32(x)
	}
	clear(sums)
	sumsPool.Put(sums) //nolint:staticcheck // a slice of known capacity
}

// The arrays of a packed table: the number of entries of each row, and the entries.
// Numbers of items are exact in float32 up to 2^24.
const (
	lengthsPath = "neighbours/lengths"
	itemsPath   = "neighbours/items"
	valuesPath  = "neighbours/values"
	scalesPath  = "neighbours/scales"
)

// Pack returns the arrays of the table.
func (n *Neighbours) Pack() weights.Set {
	lengths, items := make([]float32, len(n.offsets)-1), make([]float32, len(n.items))
	for i := range lengths {
		lengths[i] = float32(n.offsets[i+1] - n.offsets[i])
	}
	for i, item := range n.items {
		items[i] = float32(item)
	}
	set := weights.Set{
		lengthsPath: {Shape: []int{len(lengths)}, Data: lengths},
		itemsPath:   {Shape: []int{len(items)}, Data: items},
		valuesPath:  {Shape: []int{len(n.values)}, Data: n.values},
	}
	if n.scales != nil {
		set[scalesPath] = &weights.Array{Shape: []int{len(n.scales)}, Data: n.scales}
	}
	return set
}

// unpack reads a packed table of at most so many items. Items beyond those of the
// table have no neighbours.
func unpack(set weights.Set, items int) (table, error) {
	lengths, entries, values := set[lengthsPath], set[itemsPath], set[valuesPath]
	if lengths == nil || entries == nil || values == nil || len(entries.Data) != len(values.Data) || len(lengths.Data) > items {
		return table{}, fmt.Errorf("the table of neighbours is incomplete or is not of these %d items", items)
	}
	t := table{offsets: make([]int, 1, items+1), items: make([]int32, len(entries.Data)), values: values.Data}
	for i := range items {
		length := 0
		if i < len(lengths.Data) {
			length = int(lengths.Data[i])
		}
		next := t.offsets[i] + length
		if length < 0 || next > len(t.items) {
			return table{}, fmt.Errorf("row %d of the table of neighbours has a length of %d", i, length)
		}
		t.offsets = append(t.offsets, next)
	}
	if t.offsets[items] != len(t.items) {
		return table{}, fmt.Errorf("the table of neighbours has %d entries in rows of %d", len(t.items), t.offsets[items])
	}
	for i, x := range entries.Data {
		if t.items[i] = int32(x); x < 0 || int(x) >= items {
			return table{}, fmt.Errorf("the table of neighbours names item %g of %d", x, items)
		}
	}
	return t, nil
}

// unpackVector reads one number an item; items beyond it have 0.
func unpackVector(set weights.Set, path string, items int) (popular, error) {
	stored := set[path]
	if stored == nil || len(stored.Data) > items {
		return nil, fmt.Errorf("the array %s is missing or is not of these %d items", path, items)
	}
	return append(make([]float32, 0, items), stored.Data...)[:items], nil
}

// load makes a scorer of a packed table.
func (w Weighting) load(set weights.Set, items int) (Scorer, error) {
	t, err := unpack(set, items)
	if err != nil {
		return nil, err
	}
	n := &Neighbours{table: t, Weighting: w}
	if set[scalesPath] != nil {
		n.scales, err = unpackVector(set, scalesPath, items)
	}
	return n, err
}
