package export

import (
	"fmt"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/export/onnx"
	"github.com/gritvq/gritvq/internal/version"
)

// tokenizerNetworks are encoder, decoder and both together.
func tokenizerNetworks(dir string) (networks, error) {
	b, err := bundle.Load(dir)
	if err != nil {
		return networks{}, err
	}
	e, err := onnx.New(b, version.CreatedBy())
	if err != nil {
		return networks{}, fmt.Errorf("%s cannot become an ONNX network: %w", dir, err)
	}
	layout, spec := b.Tokenizer.Quantizer.Layout(), b.Tokenizer.Spec
	items, shape, cells, details := "vectors", fmt.Sprintf("float32 [batch, %d]", b.Tokenizer.Input), "", ""
	if b.Tokenizer.Modality().Kind() == dataset.Pictures {
		items, shape, cells = "pictures", "uint8 [batch, height, width, 3]", "rows, columns, "
		details = fmt.Sprintf("Height and width are free multiples of %d pixels, the side of a code's cell; "+
			"the tokenizer was trained on %[2]d x %[2]d. `values` are decoded pictures as float32 before they are rounded.",
			spec.Model.Image.Down(), spec.Model.Image.Size)
	}
	codes := fmt.Sprintf("`codes`: int64 [batch, %s%d]", cells, layout.Positions())
	latents := fmt.Sprintf("`latents`: float32 [batch, %s%d]", cells, layout.Dim)
	input := fmt.Sprintf("`%s`: %s", items, shape)
	return networks{title: "tokenizer", about: spec.Describe(b.Tokenizer.Input), details: details, notes: codingNotes(e, b), files: []file{
		{"encoder.onnx", items + " to codes and latents", input, codes + "; " + latents, e.Encoder()},
		{"decoder.onnx", "codes to " + items, codes, "`decoded`: " + shape, e.Decoder()},
		{"tokenizer.onnx", items + " to codes and reconstructions", input, "`codes`, `decoded`", e.Tokenizer()},
	}}, nil
}

// codingNotes say where the networks may give other codes than gritvq.
func codingNotes(e *onnx.Exporter, b *bundle.Bundle) []string {
	list := []string{"two codes whose squared distances differ by less than about 1e-5 of them may be taken one for the other, because " +
		"ONNX Runtime adds up in another order"}
	q := b.Tokenizer.Spec.Quantizer
	if e.Greedy() {
		list = append(list, fmt.Sprintf("the networks take the nearest code of each level, as gritvq encode --beam 1; "+
			"the tokenizer's own beam is %d and finds codes of less error", q.Beam))
	}
	if b.Tokenizer.Spec.Model.Image.Precision == "bf16" && b.Tokenizer.Spec.Model.Pictures() {
		list = append(list, halfNote)
	}
	return list
}
