package train

import (
	"context"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/weights"
)

// Problem is a model and what it learns from.
type Problem struct {
	// Identity names the model and its settings: a checkpoint of others is refused.
	Identity string
	// Init returns the first variables; those of the group State are not trained.
	Init func() weights.Set
	// Batch returns the inputs of a step; it depends on the step alone.
	Batch func(step int64) ([]*tensors.Tensor, error)
	// Loss builds the scalar to be made small. random is the engine's random
	// state of the step, for dropout.
	Loss func(v weights.Vars, inputs []*graph.Node, random *graph.Node) *graph.Node
	// Evaluate scores variables; the first number is to become large. It may be
	// nil.
	Evaluate func(ctx context.Context, set weights.Set) (score float64, all map[string]float64, err error)
	// Hooks are for problems that need more than a loss.
	Hooks
}

// Record is one line of log.jsonl.
type Record struct {
	Step         int                `json:"step"`
	Loss         float64            `json:"loss"`
	GradientNorm float64            `json:"gradient_norm"`
	Rate         float64            `json:"rate"`
	Skipped      int                `json:"skipped"` // steps without a finite gradient so far
	Scores       map[string]float64 `json:"scores,omitempty"`
	Event        string             `json:"event,omitempty"`
}

// Options say where a run happens.
type Options struct {
	Dir    string // holds the checkpoints and the log
	Data   string // names the data: a checkpoint of other data is refused
	Resume bool   // continues the directory's checkpoint if there is one
	Pack   bool   // packs variables for the embedded engine too, as for compiled ones
	Watch  Observer
}

// Result is what a run came to.
type Result struct {
	Weights weights.Set // the best by evaluation, or the last
	Seconds float64     // that it took, however often it was stopped
}

// Observer watches a run. Any field may be nil.
type Observer struct {
	Step   func(r Record)    // after every step
	Status func(text string) // what takes a while before the next step
}
