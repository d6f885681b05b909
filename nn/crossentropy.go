package nn

import (
	"fmt"
	"iter"

	"github.com/gomlx/gomlx/core/graph"
)

// Logits returns x tableᵀ [N, K] for x [N, C] and a row of table [K, C] for every code,
// computed in the precision of x and summed in float32 or better.
func Logits(x, table *graph.Node) *graph.Node {
	return inFullOf(x, graph.ConvertDType(table, x.DType())).General([]int{1}, nil, []int{1}, nil)
}

// inFullOf is a product whose result has float32 or better.
func inFullOf(a, b *graph.Node) *graph.DotBuilder {
	if full := inFull(a).DType(); full != a.DType() {
		return graph.Dot(a, b).WithOutputDType(full)
	}
	return graph.Dot(a, b)
}

// CrossEntropies returns -log softmax(Logits(x, table))[target] [N] for targets [N]
// (int32). Logits exist for a block of rows at a time. It has no gradient; see
// CrossEntropy.
func CrossEntropies(x, table, targets *graph.Node) *graph.Node {
	var all []*graph.Node
	for b := range softmaxBlocks(x, table) {
		all = append(all, b.result)
		b.follow(b.result)
	}
	return graph.Sub(graph.Concatenate(all, 0), targetLogits(x, table, targets))
}

// CrossEntropy is the sum of CrossEntropies, a scalar, with gradients for x and table.
func CrossEntropy(x, table, targets *graph.Node) *graph.Node {
	return graph.Sub(sumLogSumExp(x, table), graph.ReduceAllSum(targetLogits(x, table, targets)))
}

// targetLogits are the logits of the targets alone, [N].
func targetLogits(x, table, targets *graph.Node) *graph.Node {
	// Looked up in the precision of the table, in which the gradients of its rows add up.
	rows := graph.ConvertDType(graph.Gather(table, graph.ExpandAxes(targets, -1)), x.DType())
	return graph.ReduceSum(graph.Mul(inFull(x), inFull(rows)), -1)
}

// sumLogSumExp is Σ log Σ exp(Logits(x, table)).
//
// With e = exp(logits - max) and s its row sums, the gradient of the logits is e/s,
// known as soon as a block's logits are. A block is therefore finished, its shares of
// both gradients included, before the next begins, and no array of all rows and codes
// exists. The division by s is left to the narrow matrices.
func sumLogSumExp(x, table *graph.Node) *graph.Node {
	var sum, byTable *graph.Node
	var byX []*graph.Node
	for b := range softmaxBlocks(x, table) {
		sum = plus(sum, graph.ReduceAllSum(b.result))
		dx, share := b.gradients()
		byX, byTable = append(byX, dx), plus(byTable, share)
		b.follow(dx, byTable)
	}
	if onEmbeddedEngine(x) {
		byTable = graph.Transpose(byTable, 0, 1)
	}
	return withGradients(sum, []*graph.Node{x, table}, func(adjoint *graph.Node) []*graph.Node {
		dx := graph.Mul(graph.Concatenate(byX, 0), adjoint)
		return []*graph.Node{graph.ConvertDType(dx, x.DType()), graph.ConvertDType(graph.Mul(byTable, adjoint), table.DType())}
	})
}

// softmaxBlock is a block of rows with its softmax.
type softmaxBlock struct {
	x, table    *graph.Node // [R, C] and [K, C], in the same precision
	exponential *graph.Node // [R, K] of logits - their maximum
	sums        *graph.Node // [R, 1]
	result      *graph.Node // [R] log Σ exp(logits)
	link        *graph.Node // a zero that depends on what the next block waits for
}

// Values of a block's logits. Compiled engines need large products; the embedded one is
// fastest while a block fits the cache, but every block also adds to [K, C].
const (
	compiledBlock = 1 << 26
	embeddedBlock = 1 << 20
	leastRows     = 256
)

// rowsOfBlock replaces them in tests.
var rowsOfBlock int

func blockRows(x *graph.Node, codes int) int {
	switch {
	case rowsOfBlock > 0:
		return rowsOfBlock
	case onEmbeddedEngine(x):
		return max(leastRows, embeddedBlock/codes)
	}
	return max(leastRows, compiledBlock/codes)
}

// softmaxBlocks yields the blocks of x in order. Engines order operations by their
// dependencies alone, so a block depends on what its predecessor was told to follow: all
// of them would begin at once otherwise.
func softmaxBlocks(x, table *graph.Node) iter.Seq[*softmaxBlock] {
	if x.Rank() != 2 || table.Rank() != 2 || x.Shape().Dim(1) != table.Shape().Dim(1) {
		panic(fmt.Errorf("nn: cross-entropy of vectors %s with a table %s", x.Shape(), table.Shape()))
	}
	rows, size := x.Shape().Dim(0), blockRows(x, table.Shape().Dim(0))
	table = graph.ConvertDType(table, x.DType())
	return func(yield func(*softmaxBlock) bool) {
		var link *graph.Node
		for first := 0; first < rows; first += size {
			part := graph.Slice(x, graph.AxisRange(first, min(rows, first+size)))
			if link != nil {
				part = graph.Add(part, graph.ConvertDType(link, x.DType()))
			}
			b := newSoftmaxBlock(part, table)
			if !yield(b) {
				return
			}
			link = b.link
		}
	}
}

func newSoftmaxBlock(x, table *graph.Node) *softmaxBlock {
	logits := Logits(x, table)
	highest := graph.ReduceAndKeep(logits, graph.ReduceMax, -1)
	e := graph.Exp(graph.Sub(logits, highest))
	sums := graph.ReduceAndKeep(e, graph.ReduceSum, -1)
	return &softmaxBlock{x: x, table: table, exponential: e, sums: sums, result: graph.Reshape(graph.Add(graph.Log(sums), highest), -1)}
}

// follow makes the next block wait for nodes.
func (b *softmaxBlock) follow(nodes ...*graph.Node) {
	for _, n := range nodes {
		// A product with zero, which compilers keep: the other factor may be infinite.
		b.link = plus(b.link, graph.MulScalar(firstElement(n), 0))
	}
}

// gradients returns those of the sum of the block's results for x [R, C] and for the
// table [K, C]; on the embedded engine [C, K], which is cheaper to transpose in the end.
func (b *softmaxBlock) gradients() (byX, byTable *graph.Node) {
	e := graph.ConvertDType(b.exponential, b.x.DType())
	byX = graph.Div(inFullOf(e, b.table).Product(), b.sums)
	scaled := graph.ConvertDType(graph.Div(inFull(b.x), b.sums), b.x.DType())
	if onEmbeddedEngine(b.x) {
		return byX, inFullOf(graph.Transpose(scaled, 0, 1), e).Product()
	}
	return byX, inFullOf(e, scaled).General([]int{0}, nil, []int{0}, nil)
}
