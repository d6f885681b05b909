package twotower

import (
	"fmt"

	"github.com/gomlx/compute/shapes"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// lowestTemperature bounds a temperature that is learned.
const lowestTemperature = 0.01

// hidden is added to the score of an item that is not to be beaten.
const hidden = -1e30

// Loss is the in-batch sampled softmax of the inputs that Batch makes; random is
// nil except in training.
func (m *Model) Loss(v weights.Vars, inputs []*Node, random *nn.Random) *Node {
	if len(inputs) != BatchInputs {
		panic(fmt.Errorf("twotower: the loss takes %d inputs, got %d", BatchInputs, len(inputs)))
	}
	queries := m.queryVectors(v, inputs[0], inputs[1], random)
	items := m.itemVectors(v, inputs[2], random)
	shares := inputs[3]
	if !m.Config.Popularity {
		shares = nil
	}
	return inBatchLoss(Div(queries, m.temperature(v, queries)), items, shares, inputs[4])
}

// inBatchLoss is the mean over rows b of
//
//	-log( exp(s_bb) / Σ_j rivals_bj exp(s_bj) ),  s_bj = <q_b, v_j> - shares_j
//
// for queries q and items v [B, width], shares [B] or nil, and rivals [B, B] of 0
// and 1 with a diagonal of 1. Subtracting the logarithm of an item's sampling
// frequency makes the sampled softmax approximate the softmax over the whole
// catalogue (Bengio and Senécal, 2008; Yi et al., 2019).
func inBatchLoss(queries, items, shares, rivals *Node) *Node {
	batch := queries.Shape().Dim(0)
	scores := Dot(queries, items).General([]int{1}, nil, []int{1}, nil) // [B, B]
	own := ReduceSum(Mul(queries, items), -1)                           // [B]
	if shares != nil {
		shares = ConvertDType(shares, scores.DType())
		scores, own = Sub(scores, Reshape(shares, 1, batch)), Sub(own, shares)
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

// queryVectors maps the tensors of inputs to vectors [B, Width].
func (m *Model) queryVectors(v weights.Vars, tokens, lengths *Node, random *nn.Random) *Node {
	batch, width := tokens.Shape().Dim(1), m.Config.Width
	start := BroadcastToDims(Reshape(v.Get("query/start"), 1, 1, width), batch, 1, width)
	x := Concatenate([]*Node{start, m.lookUp(v, tokens)}, 1) // [B, 1+places, Width]
	lengths = AddScalar(lengths, 1)
	h := m.query.Build(v.In("query/tower"), x, lengths, random)
	return m.project(v, "query", m.pool(h, lengths))
}

// lookUp makes the vectors [B, places, Width] of items or words.
func (m *Model) lookUp(v weights.Vars, tokens *Node) *Node {
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

// itemVectors maps tokens [B, positions] to vectors [B, Width].
func (m *Model) itemVectors(v weights.Vars, tokens *Node, random *nn.Random) *Node {
	h := m.codeTable().Build(v.In("tokens"), tokens) // [B, positions, Width]
	if m.Config.ItemLayers > 0 {
		h = m.item.Build(v.In("item/tower"), h, nil, random)
	}
	batch, positions := tokens.Shape().Dim(0), tokens.Shape().Dim(1)
	ones := MulScalar(Ones(h.Graph(), shapes.Make(h.DType(), batch, 1, positions)), 1/float64(positions))
	mean := Reshape(Dot(ones, h).General([]int{2}, []int{0}, []int{1}, []int{0}), batch, m.Config.Width)
	return m.project(v, "item", mean)
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
