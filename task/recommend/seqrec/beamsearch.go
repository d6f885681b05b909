package seqrec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/internal/padding"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

// BeamSearch finds the most probable items by a beam search with fixed variables.
// It keeps only prefixes of the catalogue's IDs and scores items exactly, so a beam
// as wide as the catalogue finds the best items. It is safe for concurrent use.
type BeamSearch struct {
	model    *Model
	items    *network.Items
	options  network.Options
	masses   *network.Masses // of the prior, nil without one
	embedded bool            // the engine compiles nothing
	bank     *weights.Bank
	encode   *model.Exec
	steps    []*model.Exec // of the positions after the first
}

// NewBeamSearch prepares a model with the given variables for a catalogue. Depth is
// the number of beams, and of IDs that can be found; 0 means 20. Questions 0 means
// 32, or 512 for engines with hundreds of cores.
func NewBeamSearch(backend compute.Backend, m *Model, set weights.Set, items *network.Items, o network.Options) (*BeamSearch, error) {
	if err := m.vocab.Check(items); err != nil {
		return nil, err
	}
	if m.prior != (o.Prior != nil) {
		return nil, fmt.Errorf("a model that starts from a prior needs one, and no other does")
	}
	if o.Depth < 0 || o.Questions < 0 {
		return nil, fmt.Errorf("a beam of %d for %d users at a time: neither can be negative", o.Depth, o.Questions)
	}
	embedded, questions := !weights.Compiles(backend), 512
	if embedded {
		questions = 32
	}
	o.Depth, o.Questions = cmp.Or(o.Depth, 20), cmp.Or(o.Questions, questions)
	if err := padding.Add(backend); err != nil {
		return nil, err
	}
	s := &BeamSearch{model: m, items: items, options: o, embedded: embedded, bank: weights.NewBank()}
	if m.prior {
		s.masses = network.NewMasses(items, o.Prior)
	}
	if !embedded {
		s.bank.Pack("packed", m.Init(0))
	}
	if err := s.Update(context.Background(), set); err != nil {
		return nil, err
	}
	return s, s.compile(backend)
}

// Update replaces the variables by others of the same model without compiling its
// programs again. Nothing else may use the search meanwhile.
func (s *BeamSearch) Update(_ context.Context, set weights.Set) error {
	if err := s.model.Init(0).Check(set); err != nil {
		return fmt.Errorf("the variables do not fit the recommender: %w", err)
	}
	return s.bank.Install(set)
}

// Close releases the engine's copy of the variables and the compiled programs.
func (s *BeamSearch) Close() {
	s.encode.Finalize()
	for _, step := range s.steps {
		step.Finalize()
	}
	s.bank.Finalize()
}

// Top returns for each question the k most probable items that the beam holds, the
// most probable first, without repetition; fewer if the catalogue has no more.
// Scores are log-probabilities of IDs: sums over their codes, each given those
// before.
func (s *BeamSearch) Top(ctx context.Context, questions []network.Question, k int) ([][]network.Scored, error) {
	if k < 1 || k > s.options.Depth {
		return nil, fmt.Errorf("%d items were asked for, the search was prepared for 1 to %d", k, s.options.Depth)
	}
	results := make([][]network.Scored, len(questions))
	blocks := s.blocks(questions)
	answer := func(b block) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		own := make([]network.Question, len(b.questions))
		for i, at := range b.questions {
			own[i] = questions[at]
		}
		found, err := s.search(ctx, own, Shape{Rows: b.rows, History: b.history}, min(k, s.items.Len()))
		for i, list := range found {
			results[b.questions[i]] = list
		}
		return err
	}
	if s.embedded {
		for _, b := range blocks {
			if err := answer(b); err != nil {
				return nil, err
			}
		}
		return results, nil
	}
	// While the engine predicts for one block, the host walks the trie for others.
	failures := make([]error, len(blocks))
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(len(blocks), blocksAtOnce) {
		group.Go(func() {
			for i := int(next.Add(1) - 1); i < len(blocks); i = int(next.Add(1) - 1) {
				failures[i] = answer(blocks[i])
			}
		})
	}
	group.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	return results, nil
}

// blocksAtOnce is the number of blocks in progress with an engine beside the host.
const blocksAtOnce = 3

// block is a number of questions whose histories need the same room.
type block struct {
	questions []int
	history   int // room for items
	rows      int // that the block is filled up to
}

// blocks groups questions by the room their histories need. The other questions
// of a block change scores by rounding alone.
func (s *BeamSearch) blocks(questions []network.Question) []block {
	rooms := make([]int, len(questions))
	for i, q := range questions {
		rooms[i] = s.model.Config.History // one size is one program to compile
		if s.embedded {
			rooms[i] = network.RoomFor(s.model.Rooms(), len(q.History))
		}
	}
	var all []block
	for _, group := range network.Group(rooms, s.options.Questions) {
		if !s.embedded || 2*len(group) > s.options.Questions { // measured: half a block takes as long singly
			all = append(all, block{group, rooms[group[0]], s.options.Questions})
			continue
		}
		for _, i := range group {
			all = append(all, block{[]int{i}, rooms[i], 1})
		}
	}
	return all
}
