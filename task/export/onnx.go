package export

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/prior"
	"github.com/gritvq/gritvq/task/recommend"
)

// cardFile describes the networks of a directory to people; its first line begins with cardTitle.
const (
	cardFile  = "README.md"
	cardTitle = "# ONNX networks of a "
)

// networks are what a trained model becomes.
type networks struct {
	title   string // of the kind of model
	about   string // the model in a few words
	files   []file
	details string   // how the networks are used
	notes   []string // what a user of the files has to know
}

// file is one network.
type file struct {
	name, text      string
	inputs, outputs string // in Markdown
	content         []byte
}

// toONNX writes the networks of a model into a directory.
func toONNX(ctx context.Context, o Options, _ task.Watcher) (Result, error) {
	switch {
	case o.Input != "" || o.Codes != "" || o.IDs != "":
		return Result{}, usage.Errorf("--data, --codes and --ids are for --to faiss: a network stores no vectors")
	case o.Levels != 0:
		return Result{}, usage.Errorf("--levels is for --to faiss: networks have all levels")
	case o.Beam > 1:
		return Result{}, usage.Errorf("--beam %d: networks take the nearest code of each level, as --beam 1", o.Beam)
	case output.Same(o.Dir, o.Output):
		return Result{}, usage.Errorf("the output %s is the model; name another directory", o.Output)
	}
	n, err := networksOf(ctx, o.Dir)
	if err != nil {
		return Result{}, err
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
	r := Result{Output: o.Output, Notes: n.notes}
	for _, f := range append(slices.Clone(n.files), file{name: cardFile, text: "what they are", content: n.card()}) {
		path := filepath.Join(o.Output, f.name)
		if err := artifact.Bytes(f.name, f.content).Write(path); err != nil {
			return Result{}, err
		}
		r.Files = append(r.Files, File{path, int64(len(f.content)), f.text})
	}
	return r, nil
}

// networksOf makes the networks of what a directory holds; of all that is no other model, as if it were a tokenizer.
func networksOf(ctx context.Context, dir string) (networks, error) {
	_, head, _ := artifact.Identify(dir)
	if slices.Contains(prior.Kind.Names, head.Kind) {
		return priorNetworks(dir)
	}
	for _, purpose := range []*recommend.Purpose{recommend.Recommending, recommend.Searching} {
		if slices.Contains(recommend.Kinds(purpose), head.Kind) {
			return towerNetworks(ctx, dir, purpose)
		}
	}
	return tokenizerNetworks(dir)
}

// card describes the networks of a directory.
func (n networks) card() []byte {
	var text strings.Builder
	fmt.Fprintf(&text, "%s%s\n\n%s\n\n", cardTitle, n.title, n.about)
	fmt.Fprintf(&text, "| file | inputs | outputs |\n|---|---|---|\n")
	for _, f := range n.files {
		fmt.Fprintf(&text, "| `%s` | %s | %s |\n", f.name, f.inputs, f.outputs)
	}
	fmt.Fprintf(&text, "\nIR version 8, operator set 17, weights inside. %s\n\n", n.details)
	for _, note := range n.notes {
		fmt.Fprintf(&text, "* %s.\n", strings.ToUpper(note[:1])+note[1:])
	}
	return []byte(text.String())
}

// halfNote is for models that were trained in bfloat16.
const halfNote = "the networks compute in float32, the model was trained in bfloat16"
