package twotower

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// lowestTemperature bounds a temperature that is learned.
const lowestTemperature = 0.01

// hidden is added to the score of an item that is not to be beaten.
const hidden = -1e30

// Loss is the softmax of the inputs that Batch makes, over the catalogue or over the
// targets of the batch; random is nil except in training.
func (m *Model) Loss(v weights.Vars, inputs []*Node, random *nn.Random) *Node {
	if len(inputs) != m.BatchInputs() {
		panic(fmt.Errorf("twotower: the loss takes %d inputs, got %d", m.BatchInputs(), len(inputs)))
	}
	take := taker(inputs)
	queries := m.queryVectors(v, m.takeQuery(take), random)
	queries = Div(queries, m.temperature(v, queries))
	if m.Whole() {
		items := m.itemVectors(v, take(), nil, random)
		return catalogueLoss(queries, items, take(), m.weighted(v, take()), m.weighted(v, take()))
	}
	targets := take()
	var numbers *Node
	if m.Config.Own {
		numbers = take()
	}
	items := m.itemVectors(v, targets, numbers, random)
	shares, rivals := take(), take()
	if !m.Config.Popularity {
		shares = nil
	}
	var prior *Node
	if m.start.Prior {
		prior = m.weighted(v, take())
	}
	return inBatchLoss(queries, items, shares, rivals, prior)
}

// taker returns the inputs one after the other.
func taker(inputs []*Node) func() *Node {
	return func() *Node {
		first := inputs[0]
		inputs = inputs[1:]
		return first
	}
}

// weighted is the prior's part of scores.
func (m *Model) weighted(v weights.Vars, prior *Node) *Node {
	if !m.start.Prior {
		return prior
	}
	return Mul(prior, Reshape(v.Get("prior_weight")))
}

// catalogueLoss is the mean over rows b of
//
//	-log( exp(s_bt) / Σ_i exp(s_bi) ),  s_bi = <q_b, v_i> + offsets_bi
//
// for queries q [B, width], items v [n, width], offsets [B, n], and the target t of each
// row with its own offset.
func catalogueLoss(queries, items, targets, offsets, own *Node) *Node {
	batch := queries.Shape().Dim(0)
	scores := Add(Dot(queries, items).General([]int{1}, nil, []int{1}, nil), offsets) // [B, n]
	target := ReduceSum(Mul(queries, Gather(items, ExpandAxes(targets, -1))), -1)     // [B]
	top := StopGradient(ReduceAndKeep(scores, ReduceMax, -1))                         // [B, 1]
	total := Add(Log(ReduceSum(Exp(Sub(scores, top)), -1)), Reshape(top, batch))
	return ReduceAllMean(Sub(total, Add(target, own)))
}

// inBatchLoss is the mean over rows b of
//
//	-log( exp(s_bb) / Σ_j rivals_bj exp(s_bj) ),  s_bj = <q_b, v_j> - shares_j
//
// for queries q and items v [B, width], shares [B] or nil, and rivals [B, B] of 0
// and 1 with a diagonal of 1; scores of a prior [B, B], if not nil, are added. Subtracting the logarithm of an item's sampling
// frequency makes the sampled softmax approximate the softmax over the whole
// catalogue (Bengio and Senécal, 2008; Yi et al., 2019).
func inBatchLoss(queries, items, shares, rivals, prior *Node) *Node {
	batch := queries.Shape().Dim(0)
	scores := Dot(queries, items).General([]int{1}, nil, []int{1}, nil) // [B, B]
	own := ReduceSum(Mul(queries, items), -1)                           // [B]
	if shares != nil {
		shares = ConvertDType(shares, scores.DType())
		scores, own = Sub(scores, Reshape(shares, 1, batch)), Sub(own, shares)
	}
	if prior != nil {
		ids := shapes.Make(dtypes.Int32, batch, batch)
		diagonal := Equal(Iota(prior.Graph(), ids, 0), Iota(prior.Graph(), ids, 1))
		scores, own = Add(scores, prior), Add(own, ReduceSum(Where(diagonal, prior, ZerosLike(prior)), -1))
	}
	scores = Add(scores, MulScalar(OneMinus(ConvertDType(rivals, scores.DType())), hidden))
	top := StopGradient(ReduceAndKeep(scores, ReduceMax, -1)) // [B, 1]
	total := Add(Log(ReduceSum(Exp(Sub(scores, top)), -1)), Reshape(top, batch))
	return ReduceAllMean(Sub(total, own))
}

// temperature is the scalar divisor of scores.
func (m *Model) temperature(v weights.Vars, like *Node) *Node {
	if !m.Config.LearnedTemperature {
		return Scalar(like.Graph(), like.DType(), m.Config.startTemperature())
	}
	learned := Exp(Reshape(v.Get("temperature")))
	return ConvertDType(MaxScalar(learned, lowestTemperature), like.DType())
}

// query are the inputs of the query tower, see inputs.
type query struct{ tokens, lengths, numbers *Node }

// takeQuery takes as many inputs as the query tower reads.
func (m *Model) takeQuery(take func() *Node) query {
	q := query{tokens: take(), lengths: take()}
	if m.readsNumbers() {
		q.numbers = take()
	}
	return q
}

// queryVectors maps questions to vectors [B, Width].
func (m *Model) queryVectors(v weights.Vars, q query, random *nn.Random) *Node {
	tokens, lengths := q.tokens, q.lengths
	batch, width := tokens.Shape().Dim(1), m.Config.Width
	start := BroadcastToDims(Reshape(v.Get("query/start"), 1, 1, width), batch, 1, width)
	x := Concatenate([]*Node{start, m.lookUp(v, q, random)}, 1) // [B, 1+places, Width]
	lengths = AddScalar(lengths, 1)
	h := m.query.Build(v.In("query/tower"), x, lengths, random)
	return m.project(v, "query", m.pool(h, lengths))
}

// lookUp makes the vectors [B, places, Width] of items or words.
func (m *Model) lookUp(v weights.Vars, q query, random *nn.Random) *Node {
	tokens := q.tokens
	dims := tokens.Shape().Dimensions
	at := func(t int) *Node { return Reshape(Slice(tokens, AxisRange(t, t+1)), dims[1]*dims[2]) }
	var sum *Node
	if m.reads == Words {
		sum = m.wordTable().Build(v.In("query/words"), at(0))
	} else {
		table := m.projectedCodes(v)
		for t := range m.vocab.Codes {
			own := Gather(table, ExpandAxes(at(t), -1))
			if sum != nil {
				own = Add(sum, own)
			}
			sum = own
		}
	}
	if q.numbers != nil {
		sum = Add(sum, m.ownVectors(v, Reshape(q.numbers, dims[1]*dims[2]), random))
	}
	return Reshape(sum, dims[1], dims[2], m.Config.Width)
}

// projectedCodes [tokens, Width] is the contribution of each code to the vector of
// an item in a history. The projected concatenation of an item's codes is the sum
// of its codes, each under its own part of the projection, and there are fewer
// codes than items in a batch.
func (m *Model) projectedCodes(v weights.Vars) *Node {
	table, projection, width := v.In("tokens"), v.Get("query/history"), m.Config.Width
	parts := make([]*Node, len(m.vocab.Codes))
	for t, codes := range m.vocab.Codes {
		own := m.codeTable().Range(table, m.vocab.First[t], m.vocab.First[t]+codes)
		parts[t] = nn.Product(own, Slice(projection, AxisRange(t*width, (t+1)*width)))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return Concatenate(parts, 0)
}

// pool makes one vector [B, Width] of each sequence of h [B, places, Width].
func (m *Model) pool(h, lengths *Node) *Node {
	batch, places := h.Shape().Dim(0), h.Shape().Dim(1)
	if m.Config.Pool == "first" {
		return Reshape(Slice(h, AxisRange(), AxisRange(0, 1)), batch, m.Config.Width)
	}
	order := Iota(h.Graph(), shapes.Make(lengths.DType(), batch, places), 1)
	count := Reshape(lengths, batch, 1)
	share := Div(ConvertDType(LessThan(order, BroadcastToDims(count, batch, places)), h.DType()), ConvertDType(count, h.DType()))
	return Reshape(Dot(Reshape(share, batch, 1, places), h).General([]int{2}, []int{0}, []int{1}, []int{0}), batch, m.Config.Width)
}

// itemVectors maps tokens [B, positions] to vectors [B, Width]. Numbers [B] are those of
// the items, see numberOf; nil means all items of the catalogue, in their order.
func (m *Model) itemVectors(v weights.Vars, tokens, numbers *Node, random *nn.Random) *Node {
	h := m.codeTable().Build(v.In("tokens"), tokens) // [B, positions, Width]
	if m.Config.ItemLayers > 0 {
		h = m.item.Build(v.In("item/tower"), h, nil, random)
	}
	batch, positions := tokens.Shape().Dim(0), tokens.Shape().Dim(1)
	ones := MulScalar(Ones(h.Graph(), shapes.Make(h.DType(), batch, 1, positions)), 1/float64(positions))
	mean := Reshape(Dot(ones, h).General([]int{2}, []int{0}, []int{1}, []int{0}), batch, m.Config.Width)
	if m.Config.Own {
		mean = Add(mean, m.ownVectors(v, numbers, random))
	}
	return m.project(v, "item", mean)
}

// ownVectors looks up the vectors [N, Width] of items by their numbers [N], of all items
// if these are nil. Number 0 has none. In training some are left out.
func (m *Model) ownVectors(v weights.Vars, numbers *Node, random *nn.Random) *Node {
	var own, kept *Node
	if numbers == nil {
		own = m.ownTable().Range(v.In("own"), 0, m.start.Items)
	} else {
		own = m.ownTable().Build(v.In("own"), MaxScalar(AddScalar(numbers, -1), 0))
		kept = ExpandAxes(ConvertDType(GreaterThan(numbers, ScalarZero(numbers.Graph(), numbers.DType())), own.DType()), -1)
	}
	if random != nil && m.Config.OwnDropout > 0 {
		ones := Ones(own.Graph(), shapes.Make(own.DType(), own.Shape().Dim(0), 1))
		drawn := MulScalar(random.Dropout(ones, m.Config.OwnDropout), 1-m.Config.OwnDropout) // 0 or 1
		if kept != nil {
			drawn = Mul(drawn, kept)
		}
		kept = drawn
	}
	if kept == nil {
		return own
	}
	return Mul(own, kept)
}

// project ends a tower: x [B, Width] under its matrix and, where vectors are
// compared by their cosine, at length 1.
func (m *Model) project(v weights.Vars, tower string, x *Node) *Node {
	y := nn.Product(x, v.Get(tower+"/projection"))
	if m.Config.Similarity == "cosine" {
		y = L2Normalize(y, -1)
	}
	return y
}
