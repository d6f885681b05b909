package tokenizer

import (
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/weights"
)

// Modality is a kind of item that tokenizers are made for, with settings. A new
// one is a file like vectors.go, a case in [Config.Modality] and a [dataset.Set].
type Modality interface {
	Kind() dataset.Kind // of the data and of a stored tokenizer
	Item() string       // an item in messages, such as "row"
	Tokens() string     // the origin of tokens in messages, such as "patches"

	validate() error
	shape(input int) ([]int, error)      // of an item of so many values, as the network takes it
	latents(input int) (tokens, dim int) // of an item
	pixels() bool                        // whether a batch holds Pixels or Values
	block() int                          // items that the engine sees at a time
	batch() int                          // items that are read and scored at a time
	network(input int) network
	describe(input int) string // the network in a few words
	scorer(t *Tokenizer) scorer
}

// Modality is the kind of item that the settings are for.
func (c Config) Modality() Modality {
	if c.Pictures() {
		return pictureModality{c}
	}
	return vectorModality{c}
}

// Pictures says whether the settings are for pictures.
func (c Config) Pictures() bool { return c.Image.Size > 0 }

// network carries items to latents and back. Items have units of their own
// (numbers, pixel values); network and loss work in standardized ones.
type network interface {
	init(seed uint64, mean, variance []float64) weights.Set
	standardize(v weights.Vars, x *graph.Node) *graph.Node
	restore(v weights.Vars, y *graph.Node) *graph.Node
	encode(v weights.Vars, standard *graph.Node) *graph.Node // to latents [N,d]
	decode(v weights.Vars, z *graph.Node) *graph.Node        // back to standardized items
	output(y *graph.Node) *graph.Node                        // restored items in their data type
	identity() bool
}

// scorer compares items with their reconstructions, batch by batch.
type scorer interface {
	add(b Coded) error
	// result is told the number of rows, damaged ones included.
	result(usage *eval.Usage, rows int) Result
}
