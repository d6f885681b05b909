package onnx

import (
	"fmt"
	"math"
	"path"

	"github.com/gritvq/gritvq/nn"
	file "github.com/gritvq/gritvq/onnx"
)

// transformer is a stack of blocks of attention and feed-forward networks, whose variables lie below a path.
type transformer struct {
	expressions
	nn.Transformer
	at string
}

// hidden is added to the scores of keys that are not seen.
const hidden = -1e30

// stack maps x [batch, T, Width] to [batch, T, Width]; bias, "" for none, is added to the scores of all layers.
// remember sees the keys and values [batch, heads, T, head_dim] of a layer and returns those to gather from.
func (t transformer) stack(x, bias string, remember func(layer int, keys, values string) (string, string)) string {
	for i := range t.Layers {
		layer := fmt.Sprintf("layer%d", i)
		y := t.norm(x, layer+"/self_norm")
		keys, values := remember(i, t.heads(y, layer+"/self/key"), t.heads(y, layer+"/self/value"))
		query := t.scalar("Mul", t.heads(y, layer+"/self/query"), 1/math.Sqrt(float64(t.HeadDim)))
		scores := t.w.Apply("MatMul", query, t.transposed(keys, 0, 1, 3, 2))
		if bias != "" {
			scores = t.w.Apply("Add", scores, bias)
		}
		gathered := t.w.Apply("MatMul", t.w.Node("Softmax", []string{scores}, file.Attributes{"axis": -1}), values)
		gathered = t.w.Apply("Reshape", t.transposed(gathered, 0, 2, 1, 3), t.w.Ints(0, 0, t.Heads*t.HeadDim))
		x = t.w.Apply("Add", x, t.product(gathered, t.at, layer, "self/output"))
		up := t.activation(t.Activation, t.product(t.norm(x, layer+"/feed_norm"), t.at, layer, "feed/up"))
		x = t.w.Apply("Add", x, t.product(up, t.at, layer, "feed/down"))
	}
	return t.norm(x, "norm")
}

// heads maps x [batch, T, Width] to [batch, heads, T, head_dim].
func (t transformer) heads(x, name string) string {
	y := t.w.Apply("Reshape", t.product(x, t.at, name), t.w.Ints(0, 0, t.Heads, t.HeadDim))
	return t.transposed(y, 0, 2, 1, 3)
}

func (t transformer) norm(x, name string) string {
	mean := func(x string) string {
		return t.w.Node("ReduceMean", []string{x}, file.Attributes{"axes": []int{-1}, "keepdims": 1})
	}
	centred := t.Norm == "layer"
	if centred {
		x = t.w.Apply("Sub", x, mean(x))
	}
	size := t.w.Apply("Sqrt", t.scalar("Add", mean(t.w.Apply("Mul", x, x)), nn.LayerNormEpsilon))
	y := t.w.Apply("Mul", t.w.Apply("Div", x, size), t.variable(t.at, name, "scale"))
	if centred {
		y = t.w.Apply("Add", y, t.variable(t.at, name, "bias"))
	}
	return y
}

// placed adds the vectors of places (int64 [T]) to x [.., T, Width].
func (t transformer) placed(x, places string) string {
	if t.Positions != "absolute" {
		return x
	}
	return t.w.Apply("Add", x, t.embedded(path.Join(t.at, "positions"), places))
}

// embedded looks up numbers [..] in the table below a path: [.., Width].
func (n expressions) embedded(at, numbers string) string {
	width := n.set[path.Join(at, "table")].Shape[1]
	rows := n.w.Node("Gather", []string{n.variable(at, "table"), numbers}, file.Attributes{"axis": 0})
	return n.scalar("Mul", rows, math.Sqrt(float64(width)))
}

// encode is [nn.Encoder]: x [batch, T, Width], of which the first lengths [batch] count, or all for "".
func (t transformer) encode(x, lengths string) string {
	places := t.count(t.size(x, 1))
	bias := t.distances(places)
	if lengths != "" {
		seen := t.w.Apply("Less", places, t.w.Apply("Unsqueeze", lengths, t.w.Ints(1)))
		mask := t.w.Apply("Unsqueeze", t.w.Apply("Where", seen, t.w.Float(0), t.w.Float(hidden)), t.w.Ints(1, 2))
		if bias != "" {
			mask = t.w.Apply("Add", bias, mask)
		}
		bias = mask
	}
	return t.stack(t.placed(x, places), bias, func(_ int, keys, values string) (string, string) { return keys, values })
}

// distances are the biases [1, heads, T, T] of scores by the distance of places, "" for none.
func (t transformer) distances(places string) string {
	if t.Positions != "relative" {
		return ""
	}
	buckets := make([]float32, 0, 2*t.Length)
	p := nn.RelativePositions{Heads: t.Heads, Buckets: t.Buckets, Distance: t.Distance}
	table := t.set[path.Join(t.at, "positions/bias")]
	for ahead := 1 - t.Length; ahead < t.Length; ahead++ {
		buckets = append(buckets, table.Row(p.Bucket(ahead))...)
	}
	ahead := t.w.Apply("Sub", places, t.w.Apply("Unsqueeze", places, t.w.Ints(1))) // [T, T]: of a key from its query
	rows := t.w.Floats(path.Join(t.at, "distances"), []int{2*t.Length - 1, t.Heads}, buckets)
	bias := t.w.Node("Gather", []string{rows, t.w.Apply("Add", ahead, t.w.Int(t.Length-1))}, file.Attributes{"axis": 0})
	return t.w.Apply("Unsqueeze", t.transposed(bias, 2, 0, 1), t.w.Ints(0))
}
