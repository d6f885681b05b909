package export

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/export/onnx"
	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/internal/version"
	"github.com/gritvq/gritvq/task"
)

// cardFile describes the networks of a directory to people.
const cardFile = "README.md"

// toONNX writes the networks of a tokenizer into a directory.
func toONNX(_ context.Context, o Options, _ task.Watcher) (Result, error) {
	switch {
	case o.Input != "" || o.Codes != "" || o.IDs != "":
		return Result{}, usage.Errorf("--data, --codes and --ids are for --to faiss: a network stores no vectors")
	case o.Levels != 0:
		return Result{}, usage.Errorf("--levels is for --to faiss: networks have all levels")
	case o.Beam > 1:
		return Result{}, usage.Errorf("--beam %d: networks take the nearest code of each level, as --beam 1", o.Beam)
	case output.Same(o.Dir, o.Output):
		return Result{}, usage.Errorf("the output %s is the tokenizer; name another directory", o.Output)
	}
	b, err := bundle.Load(o.Dir)
	if err != nil {
		return Result{}, err
	}
	e, err := onnx.New(b, version.CreatedBy())
	if err != nil {
		return Result{}, fmt.Errorf("%s cannot become an ONNX network: %w", o.Dir, err)
	}
	claim, err := output.Lock(o.Output)
	if err != nil {
		return Result{}, err
	}
	defer claim.Release()
	card, err := memory.ReadFile(filepath.Join(o.Output, cardFile))
	if err == nil && !strings.HasPrefix(string(card), cardTitle) {
		return Result{}, output.RefuseForeign(o.Output, "directory of ONNX networks", cardFile)
	}
	r := Result{Output: o.Output, Notes: notes(e, b)}
	items := "vectors"
	if b.Tokenizer.Modality().Kind() == dataset.Pictures {
		items = "pictures"
	}
	for _, part := range []struct {
		name, text string
		make       func() []byte
	}{
		{"encoder.onnx", items + " to codes and latents", e.Encoder}, {"decoder.onnx", "codes to " + items, e.Decoder},
		{"tokenizer.onnx", items + " to codes and reconstructions", e.Tokenizer},
		{cardFile, "what they are", func() []byte { return onnxCard(b, items, r.Notes) }},
	} {
		content := part.make()
		if err := artifact.Bytes(part.name, content).Write(filepath.Join(o.Output, part.name)); err != nil {
			return Result{}, err
		}
		r.Files = append(r.Files, File{filepath.Join(o.Output, part.name), int64(len(content)), part.text})
	}
	return r, nil
}

// notes say where the networks may give other codes than gritvq.
func notes(e *onnx.Exporter, b *bundle.Bundle) []string {
	list := []string{"two codes whose squared distances differ by less than about 1e-5 of them may be taken one for the other, because " +
		"ONNX Runtime adds up in another order"}
	q := b.Tokenizer.Spec.Quantizer
	if e.Greedy() {
		list = append(list, fmt.Sprintf("the networks take the nearest code of each level, as gritvq encode --beam 1; "+
			"the tokenizer's own beam is %d and finds codes of less error", q.Beam))
	}
	if b.Tokenizer.Spec.Model.Image.Precision == "bf16" && b.Tokenizer.Spec.Model.Pictures() {
		list = append(list, "the networks compute in float32, the tokenizer was trained with convolutions in bfloat16")
	}
	return list
}

const cardTitle = "# ONNX networks of a tokenizer\n"

// onnxCard describes the networks of a directory.
func onnxCard(b *bundle.Bundle, items string, notes []string) []byte {
	layout := b.Tokenizer.Quantizer.Layout()
	shape := fmt.Sprintf("float32 [batch, %d]", b.Tokenizer.Input)
	codes := fmt.Sprintf("int64 [batch, %d]", layout.Positions())
	latents := fmt.Sprintf("float32 [batch, %d]", layout.Dim)
	size := ""
	if items == "pictures" {
		shape, codes = "uint8 [batch, height, width, 3]", fmt.Sprintf("int64 [batch, rows, columns, %d]", layout.Positions())
		latents = fmt.Sprintf("float32 [batch, rows, columns, %d]", layout.Dim)
		size = fmt.Sprintf("Height and width are free multiples of %d pixels, the side of a code's cell; the tokenizer was trained on %d x %d. "+
			"`values` are decoded pictures as float32 before they are rounded.", b.Tokenizer.Spec.Model.Image.Down(),
			b.Tokenizer.Spec.Model.Image.Size, b.Tokenizer.Spec.Model.Image.Size)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n%s\n\n", cardTitle, b.Tokenizer.Spec.Describe(b.Tokenizer.Input))
	fmt.Fprintf(&text, "| file | input | outputs |\n|---|---|---|\n")
	fmt.Fprintf(&text, "| `encoder.onnx` | `%s`: %s | `codes`: %s; `latents`: %s |\n", items, shape, codes, latents)
	fmt.Fprintf(&text, "| `decoder.onnx` | `codes`: %s | `decoded`: %s |\n", codes, shape)
	fmt.Fprintf(&text, "| `tokenizer.onnx` | `%s`: %s | `codes`, `decoded` |\n\n", items, shape)
	fmt.Fprintf(&text, "IR version 8, operator set 17, weights inside. %s\n\n", size)
	for _, note := range notes {
		fmt.Fprintf(&text, "* %s.\n", strings.ToUpper(note[:1])+note[1:])
	}
	return []byte(text.String())
}
