package seqrec

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/internal/heapguard"
	"github.com/gritvq/gritvq/weights"
)

// SearchOptions refine a BeamSearch.
type SearchOptions struct {
	// Beam is the number of prefixes kept from position to position, and the most
	// IDs that can be found; 0 is 20.
	Beam int
	// ExcludeSeen leaves out items of the query's history, all of it.
	ExcludeSeen bool
	// Users is the number of queries the engine works on at a time; 0 is 32, and
	// 512 for engines with hundreds of cores.
	Users int
}

// Scored is a recommended item.
type Scored struct {
	Item           int32
	LogProbability float64 // of its ID: the sum over the codes, each given those before
}

// BeamSearch finds the most probable items by a beam search with fixed variables.
// Every prefix it keeps is one of the catalogue's, and what it finds is scored
// exactly; a beam that holds the whole catalogue finds exactly the best items.
// It is safe for concurrent use.
type BeamSearch struct {
	model    *Model
	items    *Items
	options  SearchOptions
	embedded bool // the engine compiles nothing
	bank     *weights.Bank
	encode   *model.Exec
	steps    []*model.Exec // of the positions after the first
}

// NewBeamSearch prepares a model with the given variables for a catalogue.
func NewBeamSearch(backend compute.Backend, m *Model, set weights.Set, items *Items, o SearchOptions) (*BeamSearch, error) {
	if err := m.checkItems(items); err != nil {
		return nil, err
	}
	if err := m.Init(0).Check(set); err != nil {
		return nil, fmt.Errorf("the variables do not fit the recommender: %w", err)
	}
	if o.Beam < 0 || o.Users < 0 {
		return nil, fmt.Errorf("a beam of %d for %d users at a time: neither can be negative", o.Beam, o.Users)
	}
	if o.Beam == 0 {
		o.Beam = 20
	}
	embedded := !weights.Compiles(backend)
	if o.Users == 0 {
		o.Users = 512
		if embedded {
			o.Users = 32
		}
	}
	heapguard.Ensure()
	s := &BeamSearch{model: m, items: items, options: o, embedded: embedded, bank: weights.NewBank()}
	if !embedded {
		s.bank.Pack("packed", set)
	}
	if err := s.bank.Install(set); err != nil {
		return nil, err
	}
	return s, s.compile(backend)
}

// Update exchanges the variables for others of the same model without compiling
// its programs again. Nothing else may use the searcher meanwhile.
func (s *BeamSearch) Update(set weights.Set) error {
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

// Recommend returns for each query the k most probable items that the beam
// holds, the most probable first, without repetition; fewer if the catalogue has
// no more.
func (s *BeamSearch) Recommend(ctx context.Context, queries []Query, k int) ([][]Scored, error) {
	if k < 1 || k > s.options.Beam {
		return nil, fmt.Errorf("%d items were asked for, a beam of %d finds 1 to %d; use a wider one for more", k, s.options.Beam, s.options.Beam)
	}
	results := make([][]Scored, len(queries))
	blocks := s.blocks(queries)
	answer := func(b block) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		own := make([]Query, len(b.queries))
		for i, at := range b.queries {
			own[i] = queries[at]
		}
		found, err := s.search(ctx, own, Shape{Rows: b.users, History: b.history}, k)
		for i, list := range found {
			results[b.queries[i]] = list
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
	// While the engine predicts for one block, the host walks the trie for
	// others.
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

// blocksAtOnce is how many blocks are under way at a time with an engine beside
// the host.
const blocksAtOnce = 3

// block is a number of queries whose histories need the same room.
type block struct {
	queries []int
	history int // room for items
	users   int // that the block is filled up to
}

// blocks groups queries by the room their histories need, at most Users at a
// time. What company a query has changes its scores by rounding alone.
func (s *BeamSearch) blocks(queries []Query) []block {
	var all []block
	open := map[int]int{} // block under way, by room
	for i, q := range queries {
		room := s.model.Config.History // one size is one program to compile
		if s.embedded {
			room = s.model.HistoryFor(len(q.History))
		}
		at, started := open[room]
		if !started || len(all[at].queries) == s.options.Users {
			at = len(all)
			open[room], all = at, append(all, block{history: room, users: s.options.Users})
		}
		all[at].queries = append(all[at].queries, i)
	}
	if !s.embedded {
		return all
	}
	var result []block
	for _, b := range all {
		if 2*len(b.queries) > b.users { // measured: half a block takes as long singly
			result = append(result, b)
			continue
		}
		for _, i := range b.queries {
			result = append(result, block{queries: []int{i}, history: b.history, users: 1})
		}
	}
	return result
}
