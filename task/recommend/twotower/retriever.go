package twotower

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/padding"
	"github.com/gritvq/gritvq/internal/program"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

// itemBlock is the number of items whose vectors are made at a time.
const itemBlock = 512

// Retriever finds items of a catalogue with fixed variables. It is safe for
// concurrent use.
type Retriever struct {
	model   *Model
	items   *network.Items
	options network.Options
	store   *model.Store
	encode  *model.Exec     // queries
	embed   *model.Exec     // items
	rows    []float32       // vectors [n, Width] of the items, with a prior
	matrix  *tensors.Tensor // the same for the engine
	weight  float64         // of the prior
	learned float32         // factor of what was learned, see Shrink
	index   index.RowIndex  // nil where all items are scored
	product *model.Exec     // queries with the matrix
	lookups atomic.Int64    // nanoseconds, see LookupTime
}

// NewRetriever makes the vectors of all items and their index. Questions is 64
// where it is 0; lists may have any length.
func NewRetriever(ctx context.Context, backend compute.Backend, m *Model, set weights.Set, items *network.Items, o network.Options) (
	*Retriever, error) {
	if err := m.vocab.Check(items); err != nil {
		return nil, err
	}
	if m.start.Prior != (o.Prior != nil) {
		return nil, fmt.Errorf("a model that starts from a prior needs one, and no other does")
	}
	if o.Effort < 0 || o.Questions < 0 {
		return nil, fmt.Errorf("an effort of %d for %d questions at a time: neither can be negative", o.Effort, o.Questions)
	}
	o.Questions = cmp.Or(o.Questions, 64)
	if err := padding.Add(backend); err != nil {
		return nil, err
	}
	s := &Retriever{model: m, items: items, options: o, store: model.NewStore(), learned: 1}
	err := s.compile(backend)
	if err == nil {
		err = s.Update(ctx, set)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Retriever) compile(backend compute.Backend) (err error) {
	s.encode, err = model.NewExec(backend, s.store, func(_ *model.Scope, in []*graph.Node) *graph.Node {
		v := weights.FromStore(s.store, in[0].Graph())
		vectors := s.model.queryVectors(v, s.model.takeQuery(taker(in)), nil)
		if s.model.start.Prior { // its scores have the size of those in the loss
			vectors = graph.Div(vectors, s.model.temperature(v, vectors))
		}
		return program.PlannedOne("vectors of queries", in, vectors)
	})
	if err != nil {
		return err
	}
	s.product, err = model.NewExec(backend, s.store, func(_ *model.Scope, in []*graph.Node) *graph.Node {
		return program.PlannedOne("scores of items", in, graph.Dot(in[0], in[1]).General([]int{1}, nil, []int{1}, nil))
	})
	if err != nil {
		return err
	}
	s.embed, err = model.NewExec(backend, s.store, func(_ *model.Scope, in []*graph.Node) *graph.Node {
		var numbers *graph.Node
		if s.model.Config.Own {
			numbers = in[1]
		}
		return program.PlannedOne("vectors of items", in,
			s.model.itemVectors(weights.FromStore(s.store, in[0].Graph()), in[0], numbers, nil))
	})
	return err
}

// Update replaces the variables by others of the same model without compiling its
// programs again, and remakes the vectors of all items and their index.
// Nothing else may use the retriever meanwhile.
func (s *Retriever) Update(ctx context.Context, set weights.Set) error {
	if err := s.model.Init(0).Check(set); err != nil {
		return fmt.Errorf("the variables do not fit the dual encoder: %w", err)
	}
	if err := weights.Install(s.store, set); err != nil {
		return err
	}
	rows, err := s.itemVectors(ctx)
	if err != nil {
		return err
	}
	if s.model.start.Prior {
		s.keep(rows)
		s.weight = float64(set["prior_weight"].Data[0])
	}
	if s.ScoresAll() {
		return nil
	}
	s.index, err = index.New(ctx, s.options.Index, index.InnerProduct, rows, s.items.Len(), s.model.Config.Width)
	return err
}

// itemVectors makes the vectors [n, Width] of all items.
func (s *Retriever) itemVectors(ctx context.Context) ([]float32, error) {
	n, length, width := s.items.Len(), len(s.model.vocab.Codes), s.model.Config.Width
	block := min(itemBlock, n)
	var rows []float32
	for start := 0; start < n; start += block {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		tokens, count := make([]int32, block*length), min(block, n-start) // the last block is filled up
		for i := range count * length {
			tokens[i] = s.model.vocab.Token(i%length, s.items.ID(int32(start + i/length))[i%length])
		}
		inputs := []*tensors.Tensor{tensors.FromFlatDataAndDimensions(tokens, block, length)}
		if s.model.Config.Own {
			numbers := make([]int32, block)
			for i := range count {
				numbers[i] = s.model.numberOf(int32(start + i))
			}
			inputs = append(inputs, tensors.FromFlatDataAndDimensions(numbers, block))
		}
		values, err := call(s.embed, inputs...)
		if err != nil {
			return nil, fmt.Errorf("encoding items: %w", err)
		}
		rows = append(rows, values[:count*width]...)
	}
	for i, x := range rows {
		if v := float64(x); math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("the vector of item %d is not finite: train the model again", i/width)
		}
	}
	return rows, nil
}

// Close releases the engine's copy of the variables and the compiled programs.
func (s *Retriever) Close() {
	for _, exec := range []*model.Exec{s.encode, s.embed, s.product} {
		if exec != nil {
			exec.Finalize()
		}
	}
	if s.matrix != nil {
		s.matrix.FinalizeAll()
	}
	s.store.Finalize()
}

// vectors returns the vectors [n, Width] of questions. The other questions of a
// block change a vector by rounding alone.
func (s *Retriever) vectors(ctx context.Context, questions []network.Question) ([]float32, error) {
	width := s.model.Config.Width
	vectors, rooms := make([]float32, len(questions)*width), make([]int, len(questions))
	for i, q := range questions {
		rooms[i] = s.model.room(len(s.model.read(q)))
	}
	for _, block := range network.Group(rooms, s.options.Questions) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		own := make([]network.Question, len(block))
		for i, at := range block {
			own[i] = questions[at]
		}
		rows := s.options.Questions
		if len(own) == 1 {
			rows = 1
		}
		inputs, err := s.model.inputs(s.items, own, rows)
		if err != nil {
			return nil, err
		}
		values, err := call(s.encode, inputs...)
		if err != nil {
			return nil, fmt.Errorf("encoding questions: %w", err)
		}
		for i, at := range block {
			copy(vectors[at*width:(at+1)*width], values[i*width:])
		}
	}
	return vectors, nil
}

// LookupTime is the part of the time of all answers so far that was spent in the
// index, once the queries were vectors.
func (s *Retriever) LookupTime() time.Duration { return time.Duration(s.lookups.Load()) }

// call runs a program of one output and frees its inputs.
func call(exec *model.Exec, inputs ...*tensors.Tensor) ([]float32, error) {
	args := make([]any, len(inputs))
	for i, x := range inputs {
		args[i] = x
		defer x.FinalizeAll()
	}
	out, err := exec.Call1(args...)
	if err != nil {
		return nil, err
	}
	defer out.FinalizeAll()
	return tensors.CopyFlatData[float32](out)
}
