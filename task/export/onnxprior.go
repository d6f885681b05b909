package export

import (
	"fmt"
	"slices"

	"github.com/gritvq/gritvq/export/onnx"
	"github.com/gritvq/gritvq/internal/version"
	"github.com/gritvq/gritvq/task/prior"
)

// priorNetworks is the step of a prior.
func priorNetworks(dir string) (networks, error) {
	p, err := prior.Load(dir)
	if err != nil {
		return networks{}, err
	}
	layout, blocks := p.Model.Layout, p.Model.Blocks().Transformer
	n := networks{title: "prior", about: fmt.Sprintf("Codes of rows of %d cells, %d levels each: %s", layout.Cells, layout.Levels(), p.Model)}
	step := onnx.Prior{Blocks: blocks, Set: p.Weights, Vocab: layout.Vocab, Tied: p.Config.Model.Tied, Text: n.about}
	cache := func(places string) string {
		return fmt.Sprintf("float32 [%d, batch, %d, %s, %d]", 2*blocks.Layers, blocks.Heads, places, blocks.HeadDim)
	}
	n.files = []file{{"step.onnx", "the code before to the logits of the next",
		"`start`: int64 [batch]; `previous`: int64 [batch]; `cache`: " + cache("places"),
		fmt.Sprintf("`logits`: float32 [batch, %d]; `grown`: %s", slices.Max(layout.Vocab), cache("places + 1")),
		step.Step(version.CreatedBy())}}
	n.details = fmt.Sprintf("A row has %d codes, those of its cells one after the other, of each cell those of its levels. "+
		"Begin with an empty `cache`, 0 places long, and any `previous`; draw a code from `logits`, "+
		"and pass it as `previous` with `grown` as `cache` to the next of %d steps. `start` is %s. "+
		"Guidance by a class is `none + g * (class - none)` of the logits of two rows.",
		layout.Tokens(), layout.Tokens(), starts(layout.Classes))
	if slices.Min(layout.Vocab) < slices.Max(layout.Vocab) {
		n.notes = append(n.notes, fmt.Sprintf("levels have %v codes; logits of codes that a level lacks are -1e30", layout.Vocab))
	}
	if p.Config.Model.Precision == "bf16" {
		n.notes = append(n.notes, halfNote)
	}
	return n, nil
}

// starts says what a start token means.
func starts(classes int) string {
	if classes == 0 {
		return "0, as the rows have no classes"
	}
	return fmt.Sprintf("the row's class, 0 to %d, or %d for no class", classes-1, classes)
}
