package onnx

import (
	"fmt"
	"slices"

	"github.com/gritvq/gritvq/nn"
	file "github.com/gritvq/gritvq/onnx"
	"github.com/gritvq/gritvq/weights"
)

// Names of the step's inputs and outputs.
const (
	Start    = "start"    // int64 [batch]: the class of a row, or the number of classes for none
	Previous = "previous" // int64 [batch]: the code before; at the first place it is not read
	Cache    = "cache"    // float32 [2*layers, batch, heads, places, head_dim]: keys and values of the places before
	Logits   = "logits"   // float32 [batch, codes] of the next code
	Grown    = "grown"    // the cache with this place
)

// Prior is a model of rows of codes; see package gpt.
type Prior struct {
	Blocks nn.Transformer
	Set    weights.Set
	Vocab  []int // codes of each level
	Tied   bool  // codes are predicted by the vectors they are read with
	Text   string
}

// Step predicts the code of one place from that of the place before. The number of places in the cache says which place
// it is. Where levels have different numbers of codes, logits of codes that a level lacks are -1e30.
func (p Prior) Step(producer string) []byte {
	n := expressions{file.NewWriter("step", p.Text), p.Set}
	start, previous := n.w.Input(Start, file.Int64, "batch"), n.w.Input(Previous, file.Int64, "batch")
	cacheDims := func(places string) []any {
		return []any{2 * p.Blocks.Layers, "batch", p.Blocks.Heads, places, p.Blocks.HeadDim}
	}
	cache := n.w.Input(Cache, file.Float32, cacheDims("places")...)
	place := n.size(cache, 3) // [1]
	level := n.w.Apply("Mod", place, n.w.Ints(len(p.Vocab)))

	x := n.embedded("codes", n.w.Apply("Add", previous, n.ofLevel(p.firstBefore(), level)))
	x = n.w.Apply("Where", n.w.Apply("Equal", place, n.w.Ints(0)), n.embedded("start", start), x)
	if len(p.Vocab) > 1 {
		x = n.w.Apply("Add", x, n.embedded("levels", level))
	}
	t := transformer{n, p.Blocks, "blocks"}
	x = n.w.Apply("Unsqueeze", t.placed(x, place), n.w.Ints(1)) // [batch, 1, Width]
	var grown []string
	x = t.stack(x, "", func(layer int, keys, values string) (string, string) {
		keys, values = n.grow(cache, 2*layer, keys), n.grow(cache, 2*layer+1, values)
		grown = append(grown, n.w.Apply("Unsqueeze", keys, n.w.Ints(0)), n.w.Apply("Unsqueeze", values, n.w.Ints(0)))
		return keys, values
	})
	most := slices.Max(p.Vocab)
	n.w.Output(Logits, n.w.Apply("Squeeze", p.logits(n, x, level), n.w.Ints(1)), file.Float32, "batch", most)
	n.w.Output(Grown, n.beside(0, grown...), file.Float32, cacheDims("places_after")...)
	return n.w.Encode(producer)
}

// grow adds a place to the keys or values of a layer.
func (n expressions) grow(cache string, number int, now string) string {
	past := n.w.Node("Gather", []string{cache, n.w.Int(number)}, file.Attributes{"axis": 0})
	return n.beside(2, past, now)
}

// ofLevel picks the number of a level (int64 [1]).
func (n expressions) ofLevel(numbers []int, level string) string {
	if len(numbers) == 1 {
		return n.w.Ints(numbers...)
	}
	return n.w.Node("Gather", []string{n.w.Ints(numbers...), level}, file.Attributes{"axis": 0})
}

// firstBefore are the tokens of code 0 of the level before each.
func (p Prior) firstBefore() []int {
	firsts, sum := []int{}, 0
	for _, codes := range p.Vocab {
		firsts, sum = append(firsts, sum), sum+codes
	}
	last := len(firsts) - 1
	return append([]int{firsts[last]}, firsts[:last]...)
}

// logits are those [batch, 1, codes] of a level for x [batch, 1, Width].
func (p Prior) logits(n expressions, x, level string) string {
	most, width, first := slices.Max(p.Vocab), p.Blocks.Width, 0
	heads, lacking := make([]float32, len(p.Vocab)*width*most), make([]float32, len(p.Vocab)*most)
	for l, codes := range p.Vocab {
		table := p.Set["codes/table"]
		if !p.Tied {
			table, first = p.Set[fmt.Sprintf("output/level%d", l)], 0
		}
		for code := range most {
			if code >= codes {
				lacking[l*most+code] = hidden
				continue
			}
			for i, v := range table.Row(first + code) {
				heads[(l*width+i)*most+code] = v
			}
		}
		first += codes
	}
	if len(p.Vocab) == 1 {
		return n.w.Apply("MatMul", x, n.w.Floats("output", []int{width, most}, heads))
	}
	pick := func(name string, values []float32, shape ...int) string {
		return n.w.Node("Gather", []string{n.w.Floats(name, shape, values), level}, file.Attributes{"axis": 0})
	}
	y := n.w.Apply("MatMul", x, pick("output", heads, len(p.Vocab), width, most))
	if slices.Min(p.Vocab) < most {
		y = n.w.Apply("Add", y, pick("lacking", lacking, len(p.Vocab), most))
	}
	return y
}
