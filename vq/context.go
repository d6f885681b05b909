package vq

import (
	"fmt"
	"math/rand/v2"

	"github.com/gritvq/gritvq/internal/phase"
	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/weights"
)

// Phased codes the cells of square grids in phases, each with a stack of its own, in the
// order of the phases. With a network, the codes c of a later phase stand for
// shift + scale*c. Rows are whole grids [B*side*side,d]. Variables: those of the stacks
// below "phase<p>", those of the network below "phase<p>/condition".
type Phased struct {
	config  Config
	layout  Layout
	stacks  []Quantizer       // by phase
	cells   [][]int           // of a grid, by phase
	network transform.Context // of every later phase; Width is 0 without one
}

func newPhased(c Config, dim int) *Phased {
	phases := c.Transform.Context
	q := &Phased{config: c, cells: phase.Cells(phases, c.Side, c.Side), network: transform.Context{Dim: dim, Width: c.Transform.ContextWidth}}
	c.Transform.Context = 0
	for range phases {
		q.stacks = append(q.stacks, newStack(c, dim))
	}
	q.layout = q.stacks[0].Layout()
	q.layout.Phases, q.layout.Side = phases, c.Side
	return q
}

// Layout implements [Quantizer].
func (q *Phased) Layout() Layout { return q.layout }

// Stack returns the quantizer of a phase and the path of its variables.
func (q *Phased) Stack(p int) (Quantizer, string) { return q.stacks[p], phasePath(p) }

// Conditioned says whether there is a network: without one, phases only have codes of
// their own.
func (q *Phased) Conditioned() bool { return q.network.Width > 0 }

// ContextReach is how many cells away a sent cell may be to matter to a code.
const ContextReach = transform.ContextReach

func contextPath(p int) string { return phasePath(p) + "/" + conditionPath }

// Init implements [Quantizer]. The sample is whole grids of innovations (z-mu)/s, as
// [Phased.Innovations] computes them; with the network as it starts these are latents.
func (q *Phased) Init(sample Latents, rng *rand.Rand) (weights.Set, error) {
	cells := q.config.Side * q.config.Side
	if sample.N%cells != 0 {
		return nil, fmt.Errorf("%d latents to start from are no whole grids of %d x %d cells", sample.N, q.config.Side, q.config.Side)
	}
	set := q.StartContext(rng)
	for p, stack := range q.stacks {
		own := Latents{Dim: sample.Dim, ctx: sample.ctx}
		for first := 0; first < sample.N; first += cells {
			for _, cell := range q.cells[p] {
				own.Rows = append(own.Rows, sample.Row(first+cell)...)
			}
		}
		own.N = len(q.cells[p]) * sample.N / cells
		vars, err := stack.Init(own, rng)
		if err != nil {
			return nil, fmt.Errorf("phase %d: %w", p, err)
		}
		set.Merge(phasePath(p), vars)
	}
	return set, nil
}

// StartContext returns the first variables of the network, under which codes are used as
// they are.
func (q *Phased) StartContext(rng *rand.Rand) weights.Set {
	set := weights.Set{}
	for p := range q.stacks {
		if p > 0 && q.Conditioned() {
			set.Merge(contextPath(p), q.network.Init(rng))
		}
	}
	return set
}

// Searchable implements [NearestSearcher].
func (q *Phased) Searchable() bool { return Searchable(q.stacks[0]) }

// Frozen implements [Freezer].
func (q *Phased) Frozen(group weights.Group) bool { return Frozen(q.stacks[0], group) }

// Rewire implements [Rewirer].
func (q *Phased) Rewire(set weights.Set) error {
	for p, stack := range q.stacks {
		vars := set.Sub(phasePath(p))
		if err := Rewire(stack, vars); err != nil {
			return fmt.Errorf("phase %d: %w", p, err)
		}
		set.Merge(phasePath(p), vars)
	}
	return nil
}

// Place implements [Placer]; targets are innovations.
func (q *Phased) Place(set weights.Set, slot int, rows []int, targets []float32) ([]Touched, error) {
	p := slot / q.layout.Positions()
	touched, err := Place(q.stacks[p], set.Sub(phasePath(p)), q.layout.Position(slot), rows, targets)
	if err != nil {
		return nil, fmt.Errorf("phase %d: %w", p, err)
	}
	for i := range touched {
		touched[i].Path = phasePath(p) + "/" + touched[i].Path
	}
	return touched, nil
}
