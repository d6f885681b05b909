package onnx

import (
	"github.com/gritvq/gritvq/nn"
	file "github.com/gritvq/gritvq/onnx"
	"github.com/gritvq/gritvq/weights"
)

// Names of the towers' inputs and output, beside Codes.
const (
	History = "history" // int64 [batch, places, positions]: the codes of items, the latest item first
	Words   = "words"   // int64 [batch, places]: numbers of words
	Lengths = "lengths" // int64 [batch]: places of each row that count
	Items   = "items"   // int64 [batch, places] or [batch]: 1 more than the rows of items in the table, 0 for items added later
	Found   = "vectors" // float32 [batch, width]; the inner product of those of a query and of an item is its score
)

// Towers is a dual encoder of queries and items; see package twotower.
type Towers struct {
	Query, Item nn.Transformer // an item tower without layers takes the mean of the codes' vectors
	Set         weights.Set
	Vocab       []int   // codes of each position of an ID
	Words       bool    // queries are words, not histories
	First       bool    // the vector of a sequence is that at its start, not the mean of all
	Cosine      bool    // vectors have length 1
	Divisor     float64 // of the queries' vectors
	Text        string
}

// own says whether items have vectors of their own beside those of their codes.
func (t Towers) own() bool { return t.Set["own/table"] != nil }

// ownVectors are those of items [..]: [.., width].
func (t Towers) ownVectors(n expressions, items string) string {
	none, known := n.w.Int(0), n.w.Apply("Less", n.w.Int(0), items)
	rows := n.embedded("own", n.w.Apply("Where", known, n.w.Apply("Sub", items, n.w.Int(1)), none))
	return n.w.Apply("Mul", rows, n.w.Apply("Unsqueeze", n.float(known), n.w.Ints(-1)))
}

// QueryTower maps queries to vectors.
func (t Towers) QueryTower(producer string) []byte {
	n := expressions{file.NewWriter("query", "Maps queries to vectors: "+t.Text), t.Set}
	width := t.Query.Width
	var x string
	if t.Words {
		x = n.embedded("query/words", n.w.Input(Words, file.Int64, "batch", "places"))
	} else {
		codes := n.w.Input(History, file.Int64, "batch", "places", len(t.Vocab))
		x = n.w.Apply("Reshape", n.embedded("tokens", t.tokens(n, codes)), n.w.Ints(0, 0, len(t.Vocab)*width))
		x = n.product(x, "query/history")
		if t.own() {
			x = n.w.Apply("Add", x, t.ownVectors(n, n.w.Input(Items, file.Int64, "batch", "places")))
		}
	}
	lengths := n.w.Apply("Add", n.w.Input(Lengths, file.Int64, "batch"), n.w.Int(1))
	start := n.w.Apply("Expand", n.variable("query/start"), n.beside(0, n.size(x, 0), n.w.Ints(1, width))) // [batch, 1, width]
	h := transformer{n, t.Query, "query/tower"}.encode(n.beside(1, start, x), lengths)
	if t.First {
		h = n.w.Node("Gather", []string{h, n.w.Int(0)}, file.Attributes{"axis": 1})
	} else {
		counts := n.w.Apply("Unsqueeze", lengths, n.w.Ints(1))
		seen := n.w.Apply("Unsqueeze", n.float(n.w.Apply("Less", n.count(n.size(h, 1)), counts)), n.w.Ints(2))
		sum := n.w.Node("ReduceSum", []string{n.w.Apply("Mul", h, seen), n.w.Ints(1)}, file.Attributes{"keepdims": 0})
		h = n.w.Apply("Div", sum, n.float(counts))
	}
	return t.project(n, "query", h, t.Divisor, producer)
}

// ItemTower maps IDs of items to vectors.
func (t Towers) ItemTower(producer string) []byte {
	n := expressions{file.NewWriter("items", "Maps items to vectors: "+t.Text), t.Set}
	h := n.embedded("tokens", t.tokens(n, n.w.Input(Codes, file.Int64, "batch", len(t.Vocab))))
	if t.Item.Layers > 0 {
		h = transformer{n, t.Item, "item/tower"}.encode(h, "")
	}
	mean := n.w.Node("ReduceMean", []string{h}, file.Attributes{"axes": []int{1}, "keepdims": 0})
	if t.own() {
		mean = n.w.Apply("Add", mean, t.ownVectors(n, n.w.Input(Items, file.Int64, "batch")))
	}
	return t.project(n, "item", mean, 1, producer)
}

// tokens numbers codes [.., positions] of all positions one after the other.
func (t Towers) tokens(n expressions, codes string) string {
	firsts, sum := []int{}, 0
	for _, count := range t.Vocab {
		firsts, sum = append(firsts, sum), sum+count
	}
	return n.w.Apply("Add", codes, n.w.Ints(firsts...))
}

// project ends a tower.
func (t Towers) project(n expressions, tower, x string, divisor float64, producer string) []byte {
	x = n.product(x, tower, "projection")
	if t.Cosine {
		x = n.w.Node("LpNormalization", []string{x}, file.Attributes{"axis": -1, "p": 2})
	}
	if divisor != 1 {
		x = n.scalar("Div", x, divisor)
	}
	n.w.Output(Found, x, file.Float32, "batch", t.Query.Width)
	return n.w.Encode(producer)
}
