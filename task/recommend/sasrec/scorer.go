package sasrec

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/internal/parallel"
	"github.com/gritvq/gritvq/internal/program"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

// Scorer scores all items of a catalogue with fixed variables. It is safe for concurrent
// use.
type Scorer struct {
	model   *Model
	items   int // of the catalogue
	block   int // questions at a time
	store   *model.Store
	program *model.Exec
}

// NewScorer prepares answers for a catalogue of so many items. Those beyond the model's
// own were added since and have no score.
func NewScorer(backend compute.Backend, m *Model, set weights.Set, items int, o network.Options) (*Scorer, error) {
	s := &Scorer{model: m, items: items, block: cmp.Or(o.Questions, 64), store: model.NewStore()}
	err := s.Update(context.Background(), set)
	if err == nil {
		s.program, err = model.NewExec(backend, s.store, func(_ *model.Scope, in []*graph.Node) *graph.Node {
			return program.PlannedOne("scores of histories", in, m.Scores(weights.FromStore(s.store, in[0].Graph()), in[0], in[1]))
		})
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Update replaces the variables by others of the same model. Nothing else may use the
// scorer meanwhile.
func (s *Scorer) Update(_ context.Context, set weights.Set) error {
	if err := s.model.Init(0).Check(set); err != nil {
		return fmt.Errorf("the variables do not fit the recommender: %w", err)
	}
	return weights.Install(s.store, set)
}

// Close releases the engine's memory.
func (s *Scorer) Close() {
	if s.program != nil {
		s.program.Finalize()
	}
	s.store.Finalize()
}

// Scores calls, from several goroutines, with the scores of all items for every
// question. They are overwritten afterwards.
func (s *Scorer) Scores(ctx context.Context, questions []network.Question, do func(i int, scores []float32)) error {
	rooms := make([]int, len(questions))
	for i, q := range questions {
		rooms[i] = network.RoomFor(s.model.Rooms(), len(q.History))
	}
	for _, block := range network.Group(rooms, s.block) {
		if err := ctx.Err(); err != nil {
			return err
		}
		scores, err := s.answer(questions, block, rooms[block[0]])
		if err != nil {
			return err
		}
		_ = parallel.Each(len(block), 0, func(i int) error {
			own := append(make([]float32, 0, s.items), scores[i*s.model.Items:(i+1)*s.model.Items]...)
			for len(own) < s.items {
				own = append(own, float32(math.Inf(-1)))
			}
			do(block[i], own)
			return nil
		})
	}
	return nil
}

// answer scores the model's items for a block of questions.
func (s *Scorer) answer(questions []network.Question, block []int, room int) ([]float32, error) {
	rows := s.block
	if len(block) == 1 {
		rows = 1
	}
	items, lengths := make([]int32, rows*room), make([]int32, rows)
	for i := range rows {
		lengths[i] = 1 // of an empty history: item 0 stands for nothing known
	}
	for i, at := range block {
		var known []int32
		for _, item := range questions[at].History {
			if item >= 0 && int(item) < s.model.Items {
				known = append(known, item)
			}
		}
		read := known[max(0, len(known)-room):]
		copy(items[i*room:], read)
		lengths[i] = int32(max(1, len(read)))
	}
	inputs := []*tensors.Tensor{tensors.FromFlatDataAndDimensions(items, rows, room), tensors.FromFlatDataAndDimensions(lengths, rows)}
	out, err := s.program.Call1(inputs[0], inputs[1])
	for _, x := range inputs {
		x.FinalizeAll()
	}
	if err != nil {
		return nil, fmt.Errorf("scoring items: %w", err)
	}
	defer out.FinalizeAll()
	return tensors.CopyFlatData[float32](out)
}
