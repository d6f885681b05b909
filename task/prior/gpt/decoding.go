package gpt

import (
	"context"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/internal/parallel"
	"github.com/gritvq/gritvq/internal/program"
	"github.com/gritvq/gritvq/weights"
)

// compile prepares the programs.
//
// Engines that compile draw a whole batch in one program, or in a few whose caches grow:
// steps read the whole cache, and half of it on average is empty. The embedded engine
// has a program a level that predicts one place, with the position as data; codes are
// drawn on the host.
func (s *Sampler) compile() error {
	m := s.model
	paths := m.Init(0).Paths()
	variables := func(g *graph.Graph) weights.Vars { return m.resolve(weights.FromStore(s.store, g), paths) }
	add := func(build func(in []*graph.Node) []*graph.Node) error {
		program, err := model.NewExec(s.backend, s.store, func(_ *model.Scope, in []*graph.Node) []*graph.Node {
			return program.Planned("drawing codes", in, build(in), nil)
		})
		if err == nil {
			s.programs = append(s.programs, program)
		}
		return err
	}
	if s.embedded {
		for level := range m.Layout.Levels() {
			if err := add(func(in []*graph.Node) []*graph.Node {
				position, previous, starts := in[0], in[1], in[2]
				logits, caches := m.places(variables(position.Graph()), starts, s.Options.Guidance)(level, position, previous, in[3:])
				return append([]*graph.Node{logits}, caches...)
			}); err != nil {
				return err
			}
		}
		return nil
	}
	for i, part := range s.segments() {
		if err := add(func(in []*graph.Node) []*graph.Node {
			starts, given, known, uniform, codes, caches := in[0], in[1], in[2], in[3], in[4], in[5:]
			g := codes.Graph()
			if i == 0 {
				caches = m.empty(g, starts.Shape().Dim(0), part.length)
			} else {
				caches = longer(caches, part.length)
			}
			at := m.places(variables(g), starts, s.Options.Guidance)
			codes, caches = m.Layout.run(at, s.Options.Filter, part.first, part.end, codes, given, known, uniform, caches)
			return append([]*graph.Node{codes}, caches...)
		}); err != nil {
			return err
		}
	}
	return nil
}

// segment is a range of cells that are drawn with caches of one length.
type segment struct{ first, end, length int }

// segments divides a row into ranges of about the same size.
func (s *Sampler) segments() []segment {
	cells, levels := s.model.Layout.Cells, s.model.Layout.Levels()
	count := 8 // growing is cheap without compilation
	if !s.embedded {
		if count = 1; s.Options.Total >= worthSegments {
			count = 4
		}
	}
	size := max((cells+count-1)/count, (32+levels-1)/levels)
	var all []segment
	for first := 0; first < cells; first += size {
		end := min(cells, first+size)
		all = append(all, segment{first, end, end * levels})
	}
	return all
}

// drawCompiled draws a batch by the programs of the segments.
func (s *Sampler) drawCompiled(ctx context.Context, b *batch) error {
	tokens := s.model.Layout.Tokens()
	fixed := []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(b.starts, len(b.starts)), tensors.FromFlatDataAndDimensions(b.given, tokens, s.rows),
		tensors.FromFlatDataAndDimensions(b.known, tokens, s.rows), tensors.FromFlatDataAndDimensions(b.uniform, tokens, s.rows),
	}
	state := []*tensors.Tensor{tensors.FromFlatDataAndDimensions(b.codes, tokens, s.rows)}
	defer release(fixed)
	for _, program := range s.programs {
		if err := ctx.Err(); err != nil {
			release(state)
			return err
		}
		next, err := s.call(program, fixed, state)
		if err != nil {
			return err
		}
		state = next
	}
	defer release(state)
	codes, err := tensors.CopyFlatData[int32](state[0])
	b.codes = codes
	return err
}

// drawEmbedded draws a batch place by place.
func (s *Sampler) drawEmbedded(ctx context.Context, b *batch) error {
	return s.walk(ctx, b.starts, s.model.Layout.Tokens(), func(t int, logits []float32) ([]int32, error) {
		return b.codes[t*s.rows : (t+1)*s.rows], s.drawPlace(b, t, logits)
	})
}

// walk computes the logits [rows, K] of the first places of a batch one after the other. Pick gets them and returns the codes
// [rows] there.
func (s *Sampler) walk(ctx context.Context, starts []int32, places int, pick func(t int, logits []float32) ([]int32, error)) error {
	l := s.model.Layout
	start := tensors.FromFlatDataAndDimensions(starts, len(starts))
	defer start.FinalizeAll()
	var caches []*tensors.Tensor
	defer func() { release(caches) }()
	previous := make([]int32, s.rows)
	for _, part := range s.segments() {
		first, end := part.first*l.Levels(), min(part.end*l.Levels(), places)
		if first >= end {
			break
		}
		caches = s.grow(caches, len(starts), part.length)
		for t := first; t < end; t++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			inputs := []*tensors.Tensor{tensors.FromScalar(int32(t)), tensors.FromFlatDataAndDimensions(previous, s.rows), start}
			out, err := s.call(s.programs[t%l.Levels()], inputs, caches)
			release(inputs[:2])
			caches = nil
			if err != nil {
				return err
			}
			caches = out[1:]
			logits, err := tensors.CopyFlatData[float32](out[0])
			out[0].FinalizeAll()
			if err != nil {
				return err
			}
			if previous, err = pick(t, logits); err != nil {
				return err
			}
		}
	}
	return nil
}

// call runs a program and consumes state.
func (s *Sampler) call(program *model.Exec, fixed, state []*tensors.Tensor) ([]*tensors.Tensor, error) {
	var args []any
	for _, x := range fixed {
		args = append(args, x)
	}
	for _, x := range state {
		donated, err := graph.DonateTensorBuffer(x, s.backend, 0)
		if err != nil {
			return nil, err
		}
		args = append(args, donated)
	}
	return program.Call(args...)
}

// drawPlace draws the codes of a place from logits [rows, K].
func (s *Sampler) drawPlace(b *batch, t int, logits []float32) error {
	codes := len(logits) / s.rows
	const part = 4 // rows that share scratch memory
	return parallel.Each((s.rows+part-1)/part, 0, func(i int) error {
		d := drawer{Filter: s.Options.Filter}
		for r := i * part; r < min(s.rows, (i+1)*part); r++ {
			at := t*s.rows + r
			if b.codes[at] = b.given[at]; b.known[at] == 0 {
				b.codes[at] = int32(d.draw(logits[r*codes:][:codes], b.uniform[at]))
			}
		}
		return nil
	})
}

// grow returns caches of the given length with the values of the shorter ones, which it
// releases.
func (s *Sampler) grow(caches []*tensors.Tensor, rows, length int) []*tensors.Tensor {
	dims := s.model.Blocks().CacheDims(s.backend, rows, length)
	own := length * dims[3] // of a row and head
	all := make([]*tensors.Tensor, 2*s.model.Config.Layers)
	for i := range all {
		data := make([]float32, dims[0]*dims[1]*own)
		if caches != nil {
			short := caches[i].Shape().Dim(2) * dims[3]
			old := tensors.MustCopyFlatData[float32](caches[i])
			for n := range dims[0] * dims[1] {
				copy(data[n*own:], old[n*short:(n+1)*short])
			}
		}
		all[i] = tensors.FromFlatDataAndDimensions(data, dims...)
	}
	release(caches)
	return all
}

func release(all []*tensors.Tensor) {
	for _, x := range all {
		x.FinalizeAll()
	}
}
