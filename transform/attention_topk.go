package transform

import (
	"fmt"
	"math/rand/v2"
	"sort"

	"github.com/gomlx/compute/dtypes"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// topKMixer is attention over the TopK nearest raw codes of a code, itself
// included: the k-NN graph of the last refresh, with attentionMixer's scores.
type topKMixer struct{ attentionMixer }

func (m topKMixer) check(c Config, k, d int) error {
	if c.TopK < 1 || c.TopK > k {
		return fmt.Errorf("topk is %d: use 1 to the number of codes, %d", c.TopK, k)
	}
	return m.attentionMixer.check(c, k, d)
}

func (m topKMixer) start(c Config, set weights.Set, codes *weights.Array, rng *rand.Rand) error {
	if err := m.refresh(c, set, codes); err != nil {
		return err
	}
	return m.attentionMixer.start(c, set, codes, rng)
}

func (topKMixer) refresh(c Config, set weights.Set, codes *weights.Array) error {
	neighbours, err := Neighbours(codes, c.TopK)
	if err != nil {
		return err
	}
	set["state/neighbours"] = neighbours
	return nil
}

// graph goes slot by slot over the neighbours, so that no tensor is larger than
// [K,k] or [K,d]; the engine may keep the k gathered tables for the gradient.
func (m topKMixer) graph(c Config, v weights.Vars, codes, at *Node) *Node {
	scores, slots := m.scores(c, v, codes, at)
	return neighbourSum(Softmax(scores), codes, slots)
}

func (m topKMixer) entropy(c Config, v weights.Vars, codes *Node) *Node {
	scores, _ := m.scores(c, v, codes, nil)
	return meanEntropy(scores)
}

// scores returns the logits [N,k] over the neighbours, slot 0 being the code
// itself, and the codes of every slot, k nodes of [N,1] (int32).
func (topKMixer) scores(c Config, v weights.Vars, codes, at *Node) (scores *Node, slots []*Node) {
	slots = columns(ConvertDType(StopGradient(gathered(v.Get("state/neighbours"), at)), dtypes.Int32))
	queries := nn.Product(codes, v.Get("mixer/query"))
	keys := nn.Product(codes, v.Get("mixer/key"))
	scores = neighbourDot(DivScalar(gathered(queries, at), c.Temperature), keys, slots)
	self := make([]float64, len(slots))
	self[0] = 1
	return Add(scores, Mul(ConstAs(scores, [][]float64{self}), InsertAxes(v.Get("mixer/bias"), 0))), slots
}

// The functions below are sparse products over a neighbour list, each the other's
// gradient. slots[j] [N,1] is the row of a table [K,c] that slot j of row n refers to.

// neighbourSum returns sum_j weight[n,j] table[slot_j(n)], [N,c].
func neighbourSum(weight, table *Node, slots []*Node) *Node {
	return withGradient([]*Node{weight, table},
		func(in []*Node) *Node { return sumSlots(in[0], in[1], slots) },
		func(in []*Node, v *Node) []*Node {
			return []*Node{dotSlots(v, in[1], slots), scatterSlots(in[0], v, in[1], slots)}
		})
}

// neighbourDot returns <x[n], table[slot_j(n)]>, [N,k].
func neighbourDot(x, table *Node, slots []*Node) *Node {
	return withGradient([]*Node{x, table},
		func(in []*Node) *Node { return dotSlots(in[0], in[1], slots) },
		func(in []*Node, v *Node) []*Node {
			return []*Node{sumSlots(v, in[1], slots), scatterSlots(v, in[0], in[1], slots)}
		})
}

func sumSlots(weight, table *Node, slots []*Node) *Node {
	weights := columns(weight)
	sum := Mul(Gather(table, slots[0]), weights[0])
	for j := 1; j < len(slots); j++ {
		sum = Add(sum, Mul(Gather(table, slots[j]), weights[j]))
	}
	return sum
}

func dotSlots(x, table *Node, slots []*Node) *Node {
	products := make([]*Node, len(slots))
	for j, slot := range slots {
		products[j] = ReduceAndKeep(Mul(x, Gather(table, slot)), ReduceSum, -1)
	}
	return Concatenate(products, -1)
}

// scatterSlots adds weight[n,j] x[n] to row slot_j(n) of zeros shaped as table.
func scatterSlots(weight, x, table *Node, slots []*Node) *Node {
	sum := ZerosLike(table)
	for j, column := range columns(weight) {
		sum = ScatterSum(sum, slots[j], Mul(x, column), false, false)
	}
	return sum
}

// columns splits [N,k] into k nodes [N,1].
func columns(x *Node) []*Node {
	list := make([]*Node, x.Shape().Dimensions[1])
	for j := range list {
		list[j] = Slice(x, AxisRange(), AxisElem(j))
	}
	return list
}

// withGradient builds forward(inputs) with a hand-written gradient: backward maps
// the adjoint of the result to the inputs'. The nodes that automatic
// differentiation derives from forward are left unused, and never run.
func withGradient(inputs []*Node, forward func(in []*Node) *Node, backward func(in []*Node, v *Node) []*Node) *Node {
	var adjoints []*Node
	wrapped := make([]*Node, len(inputs))
	for i, input := range inputs {
		wrapped[i] = IdentityWithCustomGradient(input, func(_, _ *Node) *Node { return adjoints[i] })
	}
	return IdentityWithCustomGradient(forward(wrapped), func(_, v *Node) *Node {
		adjoints = backward(wrapped, v)
		return v
	})
}

// neighbourBlock is how many rows of the distance matrix exist at a time.
const neighbourBlock = 256

// Neighbours returns the k nearest codes [K,k] of every code of codes [K,d]: the
// code itself, then the others by Euclidean distance (ties go to the lower index).
// It is exact: K² d multiplications, memory 256 K.
func Neighbours(codes *weights.Array, k int) (*weights.Array, error) {
	n, d := codes.Shape[0], codes.Shape[1]
	if k < 1 || k > n {
		return nil, fmt.Errorf("%d neighbours of %d codes: use 1 to %d", k, n, n)
	}
	half := make([]float32, n) // |e|²/2
	for i := range n {
		for _, x := range codes.Row(i) {
			half[i] += x * x / 2
		}
	}
	all := blas32.General{Rows: n, Cols: d, Stride: d, Data: codes.Data}
	products := make([]float32, neighbourBlock*n)
	out := weights.New(n, k)
	for first := 0; first < n; first += neighbourBlock {
		last := min(first+neighbourBlock, n)
		block := blas32.General{Rows: last - first, Cols: d, Stride: d, Data: codes.Data[first*d : last*d]}
		inner := blas32.General{Rows: last - first, Cols: n, Stride: n, Data: products[:(last-first)*n]}
		blas32.Gemm(blas.NoTrans, blas.Trans, 1, block, all, 0, inner)
		for i := first; i < last; i++ {
			// |e_j|²/2 - <e_i, e_j> orders j as |e_i - e_j| does.
			nearest(out.Row(i), i, func(j int) float32 { return half[j] - inner.Data[(i-first)*n+j] }, n)
		}
	}
	return out, nil
}

// nearest fills row with code self and then the codes of smallest distance, by
// insertion into a sorted list of len(row)-1.
func nearest(row []float32, self int, distance func(j int) float32, n int) {
	row[0] = float32(self)
	if len(row) == 1 {
		return
	}
	type candidate struct {
		code     int
		distance float32
	}
	best := make([]candidate, 0, len(row))
	for j := range n {
		if j == self {
			continue
		}
		dist := distance(j)
		if len(best) == len(row)-1 && !(dist < best[len(best)-1].distance) {
			continue
		}
		at := sort.Search(len(best), func(i int) bool { return dist < best[i].distance })
		if len(best) < len(row)-1 {
			best = append(best, candidate{})
		}
		copy(best[at+1:], best[at:])
		best[at] = candidate{j, dist}
	}
	for i, b := range best {
		row[i+1] = float32(b.code)
	}
}
