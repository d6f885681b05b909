package train

import (
	"context"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/weights"
)

// Problem is a model with its data and loss.
type Problem struct {
	// Identity names the model and its settings: a checkpoint of others is refused.
	Identity string
	// Init returns the first variables; the group State is not trained.
	Init func(ctx context.Context) (weights.Set, error)
	// Batch returns the inputs of a step; it depends on the step alone.
	Batch func(step int64) ([]*tensors.Tensor, error)
	// Loss builds the scalar to be minimised. random is the engine's random state
	// of the step, for dropout.
	Loss func(v weights.Vars, inputs []*graph.Node, random *graph.Node) *graph.Node
	// Evaluate scores variables; the higher the score, the better. May be nil.
	Evaluate func(ctx context.Context, set weights.Set) (score float64, all map[string]float64, err error)
	// FromStart evaluates the first variables too: a model that starts from a known
	// answer keeps it unless training finds a better one.
	FromStart bool
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

// OptionsOf say where a run happens whose observer sees records of type R.
type OptionsOf[R any] struct {
	Dir    string // holds the checkpoints and the log; empty keeps neither
	Data   string // names the data: a checkpoint of other data is refused
	Resume bool   // continues the directory's checkpoint if there is one
	Pack   bool   // packs variables for the embedded engine too, as for compiled ones
	Watch  ObserverOf[R]
}

// ObserverOf watches a run. Any field may be nil.
type ObserverOf[R any] struct {
	Step   func(r R)         // after every step
	Status func(text string) // a lengthy activity before the next step
}

// Options and observers of runs that log a Record.
type (
	Options  = OptionsOf[Record]
	Observer = ObserverOf[Record]
)

// Result is the outcome of a run.
type Result struct {
	Weights weights.Set // of the best evaluation or the last step
	Seconds float64     // over all sessions
}

// Hooks extend the loop for a problem. All fields are optional.
type Hooks struct {
	// Build takes the place of Loss where a step reports or changes more.
	Build func(v weights.Vars, in Inputs) Pass
	// Parts is the number of consecutive parts that a batch is divided into; their
	// gradients are averaged. Batch returns the inputs part after part.
	Parts int
	// Constants are variables that are neither trained nor saved nor exported.
	Constants weights.Set
	// Role says how a variable changes; by default the group State is Fixed and all
	// others are Trained.
	Role func(path string) Role
	// Group is the group of a variable; nil means weights.GroupOf for all. State stays
	// a matter of the path.
	Group func(path string) weights.Group
	// Rate is the learning rate of a group as a multiple of the optimizer's.
	Rate func(g weights.Group) float64
	// Decay and Stride are passed on in [optim.Pace].
	Decay  map[weights.Group]float64
	Stride func(path string, dims []int) float64

	// Before prepares the next step on the inputs of a batch and names its kind, such
	// as "training". It may return more inputs, as many for every part of the batch,
	// part after part, which follow the others; the loop releases them.
	Before func(ctx context.Context, inputs []*tensors.Tensor) (kind string, more []*tensors.Tensor, err error)
	// After does periodic work once a step is counted, before its evaluation. It
	// may depend on the saved state alone, so that a resumed run repeats it.
	After func(s *Step) error
	// Describe returns the log's line for a step, in place of the record.
	Describe func(r Record) any
	// State points to the problem's part of a checkpoint, which is stored as JSON.
	State any
}

// Role is how a variable changes.
type Role int

// The roles. Averages are kept of the last three.
const (
	Fixed     Role = iota // not at all, or by the problem alone
	Internal              // as Fixed, and it is not exported: only training needs it
	Assisting             // by the optimizer, at every step, for a loss of its own; it is neither averaged nor exported
	Trained               // by the optimizer, at every step
	Deferred              // by the optimizer, in steps that the problem takes itself
	Followed              // by the problem
)

// Inputs are the nodes that a step is built from.
type Inputs struct {
	Batch    []*graph.Node
	Random   *graph.Node // the engine's random state of the step
	Progress *graph.Node // share of the steps that were taken
}

// Pass is a batch's way through a model.
type Pass struct {
	Loss    *graph.Node
	Scalars []*graph.Node // reported to After, averaged over the parts of a batch
	Outputs []*graph.Node // reported to After
	// Assist is the loss of the Assisting variables, nil without any; the model's variables must have no gradient from it,
	// nor they from Loss. Its gradient is clipped by itself, and where it is not finite only they keep their values.
	Assist *graph.Node
	// Extra are nodes other than parameters whose gradients Finish needs; they count
	// for clipping, in the group Codes.
	Extra []*graph.Node
	// Measure returns more scalars for After, given the gradients of the nodes Watched, which do not count for clipping.
	Watched []*graph.Node
	Measure func(gradients []*graph.Node) []*graph.Node
	// Finish changes the new values of variables after the optimizer, before they
	// are averaged.
	Finish func(next map[string]*graph.Node, u Update)
}

// Update is the optimizer's step as Pass.Finish sees it.
type Update struct {
	Finite *graph.Node   // whether loss and gradient are finite
	Step   *graph.Node   // whether, besides, this is the last part of a batch
	Scale  *graph.Node   // factor of clipped gradients
	Extra  []*graph.Node // gradients of Pass.Extra
}

// Step is a step that was just taken.
type Step struct {
	*Record
	Kept      bool               // false if it was skipped
	Gradients map[string]float64 // norms by group, if not zero
	Scalars   []float32          // of the pass
	Outputs   []*tensors.Tensor  // of the pass, part after part
	Inputs    []*tensors.Tensor  // of the batch, part after part
	Logged    bool               // whether the log has a line for it
	Evaluated bool               // whether an evaluation follows; After may decline it
}
