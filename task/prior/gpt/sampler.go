package gpt

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/internal/padding"
	"github.com/gritvq/gritvq/weights"
)

// SamplerOptions say how rows are drawn.
type SamplerOptions struct {
	Filter
	Seed uint64

	// Guidance weighs the class of a row: 0 ignores it, 1 is the model's own probability,
	// and larger values draw what is typical of the class.
	Guidance float64

	// Batch is the number of rows drawn together by engines that compile, 0 for 256. The
	// embedded engine rounds differently for other numbers and always draws the same
	// number together, so that a row never depends on the others.
	Batch int

	// Total is the number of rows expected, if known: for many, engines that compile
	// prepare programs that are faster and take longer to compile.
	Total int
}

// DefaultSampling draws from the model's own distribution.
func DefaultSampling() SamplerOptions { return SamplerOptions{Filter: Everything(), Guidance: 1} }

// Validate reports options that cannot work.
func (o SamplerOptions) Validate() error {
	if err := o.Filter.Validate(); err != nil {
		return err
	}
	if math.IsNaN(o.Guidance) || math.IsInf(o.Guidance, 0) || o.Guidance < 0 {
		return fmt.Errorf("guidance of %g cannot be used; it must be 0 or above", o.Guidance)
	}
	if o.Batch < 0 {
		return fmt.Errorf("a batch of %d rows cannot be drawn; it must be 0 (the default) or above", o.Batch)
	}
	return nil
}

// Row asks for a row of codes.
type Row struct {
	Number int   // with the seed it decides the random numbers
	Start  int32 // a class or Layout.NoClass

	// Given holds codes to keep, by place, and -1 where codes are to be drawn. Nil draws
	// all.
	Given []int32
}

// Sampler draws rows of codes from a model with given variables. A row is a function of
// the options, its number, start and given codes: on the embedded engine bit for bit,
// on others up to rounding.
type Sampler struct {
	Options SamplerOptions

	model    *Model
	backend  compute.Backend
	embedded bool
	rows     int // drawn together
	store    *model.Store
	programs []*model.Exec // one a level on the embedded engine, else one a segment
}

const (
	embeddedRows  = 32      // of the network at a time, at most
	defaultBatch  = 256     // of engines that compile
	worthSegments = 1 << 11 // rows for which shorter caches pay for more programs
)

// NewSampler prepares a model with its variables.
func NewSampler(backend compute.Backend, m *Model, set weights.Set, o SamplerOptions) (*Sampler, error) {
	return newSampler(backend, m, set, o, embeddedRows)
}

// newSampler is NewSampler with another bound on the rows of the network on the embedded engine.
func newSampler(backend compute.Backend, m *Model, set weights.Set, o SamplerOptions, most int) (*Sampler, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := m.Init(0).Check(set); err != nil {
		return nil, fmt.Errorf("the variables do not fit the prior: %w", err)
	}
	if err := padding.Add(backend); err != nil {
		return nil, err
	}
	s := &Sampler{Options: o, model: m, backend: backend, embedded: !weights.Compiles(backend), store: model.NewStore()}
	s.rows = cmp.Or(o.Batch, defaultBatch)
	if s.embedded {
		if s.rows = m.blocks.StepRows(most); s.guided() {
			s.rows /= 2
		}
	}
	err := weights.Install(s.store, set)
	if err == nil {
		err = s.compile()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// guided says whether every row takes two of the network.
func (s *Sampler) guided() bool { return s.model.Layout.Classes > 0 && s.Options.Guidance != 1 }

// Together is the number of rows that are drawn together: asking for a multiple of it
// wastes nothing.
func (s *Sampler) Together() int { return s.rows }

// Close releases the engine's memory.
func (s *Sampler) Close() {
	for _, p := range s.programs {
		p.Finalize()
	}
	s.store.Finalize()
}

// Sample draws the codes [n*Tokens] of rows. Progress, if not nil, is told the rows done.
func (s *Sampler) Sample(ctx context.Context, rows []Row, progress func(rows int)) ([]uint32, error) {
	if err := s.check(rows); err != nil {
		return nil, err
	}
	tokens := s.model.Layout.Tokens()
	result := make([]uint32, 0, len(rows)*tokens)
	for first := 0; first < len(rows); first += s.rows {
		own := rows[first:min(len(rows), first+s.rows)]
		b := newBatch(s, own)
		draw := s.drawCompiled
		if s.embedded {
			draw = s.drawEmbedded
		}
		if err := draw(ctx, b); err != nil {
			return nil, fmt.Errorf("drawing codes: %w", err)
		}
		for r := range own {
			for t := range tokens {
				result = append(result, uint32(b.codes[t*s.rows+r]))
			}
		}
		if progress != nil {
			progress(len(result) / tokens)
		}
	}
	return result, nil
}

func (s *Sampler) check(rows []Row) error {
	l := s.model.Layout
	for _, r := range rows {
		if r.Start < 0 || int(r.Start) > l.Classes {
			return fmt.Errorf("row %d is of class %d; the prior has %d classes", r.Number, r.Start, l.Classes)
		}
		if r.Given != nil && len(r.Given) != l.Tokens() {
			return fmt.Errorf("row %d is given %d codes; the prior's rows have %d", r.Number, len(r.Given), l.Tokens())
		}
		for t, code := range r.Given {
			if int(code) >= l.Vocab[t%l.Levels()] {
				return fmt.Errorf("row %d is given code %d; level %d has %d", r.Number, code, t%l.Levels(), l.Vocab[t%l.Levels()])
			}
		}
	}
	return nil
}

// batch is the rows drawn together, place by place: values are [Tokens, rows].
type batch struct {
	starts       []int32 // of the network's rows
	given, known []int32
	uniform      []float32
	codes        []int32
}

// newBatch fills up with rows of no class whose codes nobody reads.
func newBatch(s *Sampler, rows []Row) *batch {
	tokens := s.model.Layout.Tokens()
	n := tokens * s.rows
	b := &batch{make([]int32, s.rows), make([]int32, n), make([]int32, n), make([]float32, n), make([]int32, n)}
	for r := range b.starts {
		b.starts[r] = s.model.Layout.NoClass()
	}
	for r, own := range rows {
		b.starts[r] = own.Start
		for t := range tokens {
			b.uniform[t*s.rows+r] = Uniform(s.Options.Seed, own.Number, t)
			if own.Given != nil && own.Given[t] >= 0 {
				b.given[t*s.rows+r], b.known[t*s.rows+r] = own.Given[t], 1
			}
		}
	}
	if s.guided() {
		for range s.rows {
			b.starts = append(b.starts, s.model.Layout.NoClass())
		}
	}
	return b
}
