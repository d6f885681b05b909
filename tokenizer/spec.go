package tokenizer

import (
	"fmt"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
	"go.yaml.in/yaml/v3"
)

// Spec describes a tokenizer: all that encoding and decoding need beside the weights.
type Spec struct {
	Model     Config    `yaml:"model" doc:"The network around the quantizer."`
	Quantizer vq.Config `yaml:"quantizer" doc:"The quantizer."`
}

// DefaultSpec returns the defaults of a method. Classical methods quantize the vectors themselves.
func DefaultSpec(method string) (Spec, error) {
	q, err := vq.Defaults(method)
	s := Spec{Model: Default(), Quantizer: q}
	if vq.Classical(method) {
		s.Model.Dim, s.Model.Hidden = 0, nil
	}
	return s, err
}

// Describe describes in a line the model that the settings build for items of input numbers.
func (s Spec) Describe(input int) string {
	q := s.Quantizer
	text := fmt.Sprintf("%s, %d levels x %d codes", q.Method, q.Levels, q.Codes)
	if q.Levels == 1 {
		text = fmt.Sprintf("%s, %d codes", q.Method, q.Codes)
	}
	if q.Parts > 1 {
		text += fmt.Sprintf(" x %d parts", q.Parts)
	}
	if q.Transform.Context > 0 {
		text += fmt.Sprintf(" in %d phases", q.Transform.Context)
	}
	return text + s.Model.Modality().describe(input)
}

// ReadSpec reads model and quantizer from a stored configuration, YAML or JSON. Other sections are skipped; absent keys
// stand for the behaviour before they existed.
func ReadSpec(document []byte) (Spec, error) {
	var stored struct {
		Quantizer struct {
			Method string `yaml:"method"`
		} `yaml:"quantizer"`
	}
	if err := yaml.Unmarshal(document, &stored); err != nil {
		return Spec{}, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	s, err := DefaultSpec(stored.Quantizer.Method)
	if err != nil {
		return s, err
	}
	s = s.Earlier()
	return s, config.DecodePart(document, &s)
}

// Earlier returns what keys absent from a stored configuration stand for.
func (s Spec) Earlier() Spec {
	s.Quantizer = s.Quantizer.Earlier()
	return s
}

// Config describes the network around the quantizer.
type Config struct {
	Dim         int    `yaml:"dim" doc:"Dimension of the latents (0: that of the input)."`
	Hidden      []int  `yaml:"hidden"`
	Activation  string `yaml:"activation" enum:"relu|gelu|silu" doc:"Vectors: between layers."`
	Standardize string `yaml:"standardize" enum:"none|scale|feature"`
	Refine      Refine `yaml:"refine" doc:"Vectors that are quantized as they are: a network that the decoder adds to the codes' vectors."`
	Image       Image  `yaml:"image" doc:"Pictures: the convolutional network, in place of hidden, activation and standardize."`
}

// Docs describes keys for package config.
func (Config) Docs() map[string]string {
	return map[string]string{
		"hidden": "Vectors: widths of the encoder's hidden layers; the decoder mirrors them. " +
			"Empty with dim 0 quantizes the vectors themselves.",
		"standardize": "Vectors: scale subtracts the mean and divides by one scale (keeps distances); " +
			"feature divides every dimension by its own; none.",
	}
}

// Default is TIGER's shape: 512-256-128 to 32 dimensions.
func Default() Config {
	return Config{
		Dim: 32, Hidden: []int{512, 256, 128}, Activation: "relu", Standardize: "scale",
		Image: Image{Up: "transposed", Precision: "f32"},
	}
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	if c.Dim < 0 {
		return fmt.Errorf("model.dim: %d must not be negative", c.Dim)
	}
	if err := c.Refine.validate(c); err != nil {
		return err
	}
	return c.Modality().validate()
}

// Modality is a kind of item. A new one is a file like vectors.go, a case in [Config.Modality] and a [dataset.Set].
type Modality interface {
	Kind() dataset.Kind // of the data and of a stored tokenizer
	Item() string       // an item in messages, such as "row"
	Tokens() string     // the origin of tokens in messages, such as "patches"

	validate() error
	shape(input int) ([]int, error)      // of an item of input values, as the network takes it
	latents(input int) (tokens, dim int) // of an item
	grid() int                           // side of the square of latents of an item; 0 where they are not neighbours
	pixels() bool                        // whether a batch holds Pixels or Values
	block() int                          // items that the engine sees at a time
	batch() int                          // items that are read and scored at a time
	numbers(input int) float64           // of an item in the network, layer by layer
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

// network carries items to latents and back. Network and loss work in standardized units.
type network interface {
	init(seed uint64, sample Sample) weights.Set
	standardize(v weights.Vars, x *graph.Node) *graph.Node
	restore(v weights.Vars, y *graph.Node) *graph.Node
	encode(v weights.Vars, standard *graph.Node) *graph.Node // to latents [N,d]
	// decode carries quantized latents back to standardized items. random is nil but in training.
	decode(v weights.Vars, z *graph.Node, random *vq.Random) *graph.Node
	output(y *graph.Node) *graph.Node // restored items in their data type
	identity() bool
}

// scorer compares items with their reconstructions, batch by batch.
type scorer interface {
	add(b Coded) error
	// result is told the number of rows, damaged ones included.
	result(usage *eval.Usage, rows int) Result
}
