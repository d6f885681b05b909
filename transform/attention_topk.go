package transform

import (
	"fmt"
	"math/rand/v2"

	"github.com/gomlx/compute/dtypes"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// topKMixer is attention over the TopK nearest raw codes of a code, itself
// included: the k-NN graph of the last refresh, with attentionMixer's scores.
type topKMixer struct{}

func (topKMixer) check(c Config, k, _ int) error {
	if c.TopK < 1 || c.TopK > k {
		return fmt.Errorf("topk is %d: use 1 to the number of codes, %d", c.TopK, k)
	}
	return c.checkScores()
}

func (m topKMixer) start(c Config, set weights.Set, codes *weights.Array, rng *rand.Rand) error {
	if err := m.refresh(c, set, codes); err != nil {
		return err
	}
	return c.startScores(set, codes, rng)
}

// refresh finds the neighbours of the codes as they are now.
func (topKMixer) refresh(c Config, set weights.Set, codes *weights.Array) error {
	neighbours, err := Neighbours(codes, c.TopK)
	if err != nil {
		return err
	}
	set["state/neighbours"] = neighbours
	return nil
}

func (m topKMixer) entropy(c Config, v weights.Vars, codes *Node) *Node {
	return meanEntropy(m.scores(c, v, codes, nil, m.graphNeighbours(v, nil)))
}

func (topKMixer) mix(c Config, p variables) []float64 { return mixRows(newAttentionRows(c, p), p) }

func (topKMixer) place(c Config, set weights.Set, codes *weights.Array, rows []int, y []float64, mode PlaceMode) ([]Touched, error) {
	return attentionMixer{}.place(c, set, codes, rows, y, mode)
}

// graph goes slot by slot over the neighbours, so that no tensor is larger than
// [K,k] or [K,d]; the engine may keep the k gathered tables for the gradient.
func (m topKMixer) graph(c Config, v weights.Vars, codes *Node) *Node {
	slots := m.graphNeighbours(v, nil)
	return neighbourSum(Softmax(m.scores(c, v, codes, nil, slots)), codes, slots)
}

func (m topKMixer) graphRows(c Config, v weights.Vars, codes, at *Node) *Node {
	slots := m.graphNeighbours(v, at)
	return neighbourSum(Softmax(m.scores(c, v, codes, at, slots)), codes, slots)
}

// graphNeighbours returns the codes of every slot, k nodes of [N,1] (int32), for
// all codes or for those at [N,1].
func (topKMixer) graphNeighbours(v weights.Vars, at *Node) []*Node {
	neighbours := v.Get("state/neighbours")
	if at != nil {
		neighbours = Gather(neighbours, at)
	}
	neighbours = ConvertDType(StopGradient(neighbours), dtypes.Int32)
	return columns(neighbours)
}

// scores returns the logits [N,k] over the neighbours; slot 0 is the code itself.
func (topKMixer) scores(c Config, v weights.Vars, codes, at *Node, slots []*Node) *Node {
	queries := nn.Product(codes, v.Get("mixer/query"))
	keys := nn.Product(codes, v.Get("mixer/key"))
	if at != nil {
		queries = Gather(queries, at)
	}
	scores := neighbourDot(DivScalar(queries, c.Temperature), keys, slots)
	self := make([]float64, len(slots))
	self[0] = 1
	return Add(scores, Mul(ConstAs(scores, [][]float64{self}), InsertAxes(v.Get("mixer/bias"), 0)))
}

// The three functions below are sparse products over a neighbour list, each the
// other's gradient. slots[j] [N,1] is the row of a table [K,c] that slot j of
// row n refers to.

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
	var sum *Node
	for j, column := range columns(weight) {
		term := Mul(Gather(table, slots[j]), column)
		if j == 0 {
			sum = term
		} else {
			sum = Add(sum, term)
		}
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
