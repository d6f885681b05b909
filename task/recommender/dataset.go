package recommender

import (
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/data"
	"github.com/gritvq/gritvq/interactions"
	"github.com/gritvq/gritvq/semid"
	"github.com/gritvq/gritvq/task/seqrec"
)

// Dataset ties a log of interactions to the IDs of a catalogue. Items are rows
// of the catalogue's table.
type Dataset struct {
	Items *seqrec.Items

	log   *interactions.Log
	rows  []int32 // of the table, by item of the log
	first []int   // training examples before each user; the last entry counts all
}

// NewDataset finds every item of the log in the table. It fails on an item
// without an ID.
func NewDataset(log *interactions.Log, table *semid.Table) (*Dataset, error) {
	items, err := seqrec.NewItems(table.IDs(), table.Vocab())
	if err != nil {
		return nil, err
	}
	d := &Dataset{Items: items, log: log, rows: make([]int32, log.Items()), first: make([]int, log.Users()+1)}
	for i := range d.rows {
		row, ok := table.Row(log.Item(i))
		if !ok {
			return nil, fmt.Errorf("item %q of %s has no ID; add it with gritvq ids add, or use the catalogue that the log is of", log.Item(i), log.Path())
		}
		d.rows[i] = int32(row)
	}
	for u := range log.Users() {
		d.first[u+1] = d.first[u] + max(0, len(log.Train(u))-1)
	}
	if d.Examples() == 0 {
		return nil, fmt.Errorf("%s has no user with two items to learn from beside the two that are held out", log.Path())
	}
	return d, nil
}

// Examples is the number of training examples: every item of a user's training
// sequence but the first is a target once, after those before it.
func (d *Dataset) Examples() int { return d.first[len(d.first)-1] }

// example is training example i.
func (d *Dataset) example(i, history int) seqrec.Example {
	user, _ := slices.BinarySearch(d.first, i+1)
	user--
	sequence, target := d.log.Train(user), i-d.first[user]+1
	return seqrec.Example{Query: d.query(user, sequence[:target], history), Target: d.rows[sequence[target]]}
}

func (d *Dataset) query(user int, sequence []int32, history int) seqrec.Query {
	recent := interactions.Recent(sequence, history)
	q := seqrec.Query{User: d.log.User(user), History: make([]int32, len(recent))}
	for i, item := range recent {
		q.History[i] = d.rows[item]
	}
	return q
}

// batches returns the inputs of training steps, a function of the step: every
// epoch visits every example once.
func (d *Dataset) batches(m *seqrec.Model, batch int, seed uint64) (func(step int64) ([]*tensors.Tensor, error), error) {
	sampler, err := data.NewSampler(data.All(d.Examples()), batch, seed)
	if err != nil {
		return nil, err
	}
	return func(step int64) ([]*tensors.Tensor, error) {
		rows := make([]int, batch)
		sampler.Batch(step, rows)
		examples := make([]seqrec.Example, batch)
		for i, row := range rows {
			examples[i] = d.example(row, m.Config.History)
		}
		return m.Batch(d.Items, examples, seqrec.Shape{Rows: batch, History: m.Config.History})
	}, nil
}

// Part is what a user's last items are for.
type Part int

// The parts of a log that are held out.
const (
	Validation Part = iota // the last item but one
	Test                   // the last one
)

// queries returns the held-out questions of a part and their answers; users with
// too short a sequence have none. At most limit users, evenly spaced (0: all).
func (d *Dataset) queries(part Part, history, limit int) (queries []seqrec.Query, targets []int32, users []int) {
	step := 1
	if limit > 0 {
		step = max(1, d.log.Users()/limit)
	}
	for u := 0; u < d.log.Users(); u += step {
		held := d.log.Validation
		if part == Test {
			held = d.log.Test
		}
		if past, target, ok := held(u); ok {
			queries, targets, users = append(queries, d.query(u, past, history)), append(targets, d.rows[target]), append(users, u)
		}
	}
	return queries, targets, users
}
