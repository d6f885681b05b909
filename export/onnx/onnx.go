// Package onnx writes ONNX networks: encoders and decoders of tokenizers, steps of priors and towers of dual encoders.
package onnx

import (
	"fmt"
	"slices"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/dataset"
	file "github.com/gritvq/gritvq/onnx"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// Names of inputs and outputs.
const (
	Vectors  = "vectors"  // float32 [batch, dim]
	Pictures = "pictures" // uint8 [batch, height, width, 3]
	Decoded  = "decoded"  // vectors or pictures, as the input
	Values   = "values"   // float32: decoded pictures before they are rounded
	Codes    = "codes"    // int64 [batch, positions], of pictures [batch, rows, columns, positions]
	Latents  = "latents"  // float32, as codes, [.., dim]: what the codes are found for
)

// Exporter makes the networks of a tokenizer.
type Exporter struct {
	tokenizer *tokenizer.Tokenizer
	variables weights.Set
	books     []*weights.Array
	layout    vq.Layout
	spec      tokenizer.Spec
	producer  string
}

// network is one under construction.
type network struct {
	*Exporter
	expressions
	phase int    // that is being coded, where cells are coded in phases
	scale string // [N, d] of its codes, "" for codes as they are
}

// New refuses tokenizers that the networks cannot stand for.
func New(b *bundle.Bundle, producer string) (*Exporter, error) {
	e := &Exporter{tokenizer: b.Tokenizer, variables: b.Weights, books: b.Codebooks,
		layout: b.Tokenizer.Quantizer.Layout(), spec: b.Tokenizer.Spec, producer: producer}
	q := e.spec.Quantizer
	size := 0
	for _, a := range e.variables {
		size += 4 * len(a.Data)
	}
	switch {
	case q.Search == vq.Local:
		return nil, fmt.Errorf("method %s finds codes in a way that is not exported to ONNX, by local search; "+
			"train with --set quantizer.search=beam", q.Method)
	case !slices.Contains([]string{vq.FSQ.Name, vq.LFQ.Name}, q.Method) && !vq.Searchable(b.Tokenizer.Quantizer):
		return nil, fmt.Errorf("method %s finds codes in a way that is not exported to ONNX", q.Method)
	case size > 1<<31-1<<20:
		return nil, fmt.Errorf("its weights of %d bytes do not fit into an ONNX file, which ends at 2 GiB", size)
	}
	return e, nil
}

// Greedy says whether the tokenizer encodes with a beam and the networks do not.
func (e *Exporter) Greedy() bool {
	return e.spec.Quantizer.Beam > 1 && e.layout.Levels > 1
}

func (e *Exporter) pictures() bool { return e.tokenizer.Modality().Kind() == dataset.Pictures }

func (e *Exporter) start(name, text string) network {
	return network{Exporter: e, expressions: expressions{file.NewWriter(name, text), e.variables}}
}

// Encoder maps vectors or pictures to codes and latents.
func (e *Exporter) Encoder() []byte {
	n := e.start("encoder", "Maps items to codes: "+e.spec.Describe(e.tokenizer.Input))
	latents, codes, _ := n.encode()
	n.output(Codes, codes, file.Int64, e.layout.Positions())
	n.output(Latents, latents, file.Float32, e.layout.Dim)
	return n.w.Encode(e.producer)
}

// Decoder maps codes to vectors or pictures.
func (e *Exporter) Decoder() []byte {
	n := e.start("decoder", "Maps codes to items: "+e.spec.Describe(e.tokenizer.Input))
	codes := n.w.Input(Codes, file.Int64, n.dims(e.layout.Positions())...)
	n.decode(n.lookUpGrid(codes))
	return n.w.Encode(e.producer)
}

// Tokenizer maps vectors or pictures to codes and to their reconstructions.
func (e *Exporter) Tokenizer() []byte {
	n := e.start("tokenizer", "Maps items to codes and reconstructions: "+e.spec.Describe(e.tokenizer.Input))
	_, codes, quantized := n.encode()
	n.output(Codes, codes, file.Int64, e.layout.Positions())
	n.decode(quantized)
	return n.w.Encode(e.producer)
}

// dims are those of a tensor with a last axis of the given size for every latent.
func (e *Exporter) dims(last int) []any {
	if e.pictures() {
		return []any{"batch", "rows", "columns", last}
	}
	return []any{"batch", last}
}

func (n network) output(name, tensor string, element file.Element, last int) {
	n.w.Output(name, tensor, element, n.dims(last)...)
}

// encode returns latents, codes and quantized latents, all as [network.dims] says.
func (n network) encode() (latents, codes, quantized string) {
	if n.pictures() {
		latents = n.encodePictures(n.w.Input(Pictures, file.Uint8, "batch", "height", "width", 3))
	} else {
		latents = n.encodeVectors(n.w.Input(Vectors, file.Float32, "batch", n.tokenizer.Input))
	}
	latents = n.shaped(n.prepare(n.flat(latents, n.layout.Dim)), latents, n.layout.Dim)
	codes, quantized = n.quantizeGrid(latents)
	return latents, codes, quantized
}

func (n network) decode(quantized string) {
	if n.pictures() {
		values, pixels := n.decodePictures(quantized)
		outer := []any{"batch", "height", "width", 3}
		n.w.Output(Decoded, pixels, file.Uint8, outer...)
		n.w.Output(Values, values, file.Float32, outer...)
		return
	}
	n.w.Output(Decoded, n.decodeVectors(quantized), file.Float32, "batch", n.tokenizer.Input)
}

// flat makes a tensor of dims a list of rows [N, last].
func (n network) flat(x string, last int) string {
	if !n.pictures() {
		return x
	}
	return n.w.Apply("Reshape", x, n.w.Ints(-1, last))
}

// shaped gives rows [N, last] the leading axes of like.
func (n network) shaped(rows, like string, last int) string {
	if !n.pictures() {
		return rows
	}
	return n.w.Apply("Reshape", rows, n.beside(0, n.leading(like), n.w.Ints(last)))
}
