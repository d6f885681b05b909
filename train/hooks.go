package train

import (
	"context"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/weights"
)

// Hooks are what a problem adds to the loop. All fields are optional.
type Hooks struct {
	// Build takes the place of Loss where a step reports or changes more.
	Build func(v weights.Vars, in Inputs) Pass
	// Parts is the number of parts in which a batch is taken, one after another;
	// their gradients are averaged. Batch returns the inputs part after part.
	Parts int
	// Constants are variables that are neither trained nor saved nor exported.
	Constants weights.Set
	// Role says how a variable changes; nil is [DefaultRole].
	Role func(path string) Role
	// Internal says which variables only training needs: they are not exported.
	Internal func(path string) bool
	// Rate is the learning rate of a group as a multiple of the optimizer's.
	Rate func(g weights.Group) float64
	// Decay and Stride are those of [optim.Pace].
	Decay  map[weights.Group]float64
	Stride func(path string, dims []int) float64

	// Before prepares the next step and names the kind of step that it is
	// ("training" if empty), for the status.
	Before func(ctx context.Context) (kind string, err error)
	// After does periodic work once a step is counted, before its evaluation. It
	// may depend on the saved state alone, so that a resumed run repeats it.
	After func(ctx context.Context, s *Step) error
	// Describe returns the log's line for a step, in place of the record.
	Describe func(r Record) any

	// State points to the problem's part of a checkpoint, which is stored as JSON.
	State any
	// Counts returns arrays that are saved with a checkpoint. Those of a new run
	// are overwritten when it resumes.
	Counts func() map[string][]int64
}

// Role is how a variable changes.
type Role int

// The roles. All but Fixed have an average, if averages are kept.
const (
	Fixed    Role = iota // not at all, or by the problem alone
	Trained              // by the optimizer, at every step
	Deferred             // by the optimizer, in steps that the problem takes itself
	Followed             // by the problem
)

// DefaultRole trains all variables but those of the group State.
func DefaultRole(path string) Role {
	if weights.GroupOf(path) == weights.State {
		return Fixed
	}
	return Trained
}

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
	// Extra are nodes that are no parameters and whose gradients Finish needs; they
	// count for clipping as weights.Codes.
	Extra []*graph.Node
	// Finish changes the new values of variables after the optimizer, before they
	// are averaged.
	Finish func(next map[string]*graph.Node, u Update)
}

// Update is what Pass.Finish goes by.
type Update struct {
	Finite *graph.Node   // whether loss and gradient are
	Step   *graph.Node   // whether variables change: the gradient is finite and complete
	Scale  *graph.Node   // by which clipping multiplies gradients
	Extra  []*graph.Node // gradients of Pass.Extra
}

// Step is a step that was just taken.
type Step struct {
	*Record
	Kept      bool               // false where it was skipped
	Gradients map[string]float64 // norms by group, where not zero
	Scalars   []float32          // of the pass
	Outputs   []*tensors.Tensor  // of the pass, part after part
	Inputs    []*tensors.Tensor  // of the batch, part after part
	Logged    bool               // whether the log has a line of it
	Evaluated bool               // whether an evaluation follows; After may decline it
}

// Pace is what changes from step to step.
type Pace struct {
	optim.Pace
	Progress *graph.Node // share of the steps that were taken
	clip     *graph.Node // bound on the gradient's norm
	average  *graph.Node // share of new values in the weight average
	apply    *graph.Node // 0 while parts of a batch are collected
}
