package recommend

import (
	"slices"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/dataset"
)

// batches returns the inputs of training steps as a function of the step. A batch
// of histories holds examples that need the same room, so that short histories,
// which most are, do not cost as much as long ones; the batches of all rooms come
// in a random order, each room as often as it has examples.
func (d *Dataset) batches(m Learner, batch int, seed uint64) (func(step int64) ([]*tensors.Tensor, error), error) {
	inputs, err := m.Batches(d)
	if err != nil {
		return nil, err
	}
	if m.Rooms() == nil {
		sampler, err := dataset.NewSampler(dataset.All(d.Examples()), batch, seed)
		if err != nil {
			return nil, err
		}
		return func(step int64) ([]*tensors.Tensor, error) {
			return inputs(d.draw(sampler, step, batch, nil), 0)
		}, nil
	}
	classes, err := d.byRoom(m.Rooms(), batch, seed)
	if err != nil {
		return nil, err
	}
	perEpoch := 0
	for _, c := range classes {
		perEpoch += c.batches
	}
	return func(step int64) ([]*tensors.Tensor, error) {
		epoch := step / int64(perEpoch)
		at := dataset.NewPermutation(perEpoch, seed^uint64(epoch)*0x9e3779b97f4a7c15).At(int(step % int64(perEpoch)))
		for _, c := range classes {
			if at < c.batches {
				return inputs(d.draw(c.sampler, epoch*int64(c.batches)+int64(at), batch, c.examples), c.room)
			}
			at -= c.batches
		}
		panic("recommend: a step without a batch")
	}, nil
}

// draw returns the examples of a sampler's batch; the sampler draws from numbers
// of examples, or from places in a list of them.
func (d *Dataset) draw(sampler *dataset.Sampler, at int64, batch int, list []int) []Example {
	rows, examples := make([]int, batch), make([]Example, batch)
	sampler.Batch(at, rows)
	for i, row := range rows {
		if list != nil {
			row = list[row]
		}
		examples[i] = d.Example(row)
	}
	return examples
}

// class is the training examples whose histories need the same room.
type class struct {
	room     int
	examples []int
	batches  int // an epoch
	sampler  *dataset.Sampler
}

// byRoom sorts the training examples by the smallest room that holds the items
// that are read of their history.
func (d *Dataset) byRoom(rooms []int, batch int, seed uint64) ([]class, error) {
	classes := make([]class, len(rooms))
	for i := range classes {
		classes[i].room = rooms[i]
	}
	for u := range len(d.first) - 1 {
		for i := d.first[u]; i < d.first[u+1]; i++ {
			history := i - d.first[u] + 1
			at, _ := slices.BinarySearch(rooms, min(history, rooms[len(rooms)-1]))
			classes[at].examples = append(classes[at].examples, i)
		}
	}
	classes = slices.DeleteFunc(classes, func(c class) bool { return len(c.examples) == 0 })
	for i := range classes {
		c := &classes[i]
		c.batches = max(1, (len(c.examples)+batch/2)/batch)
		var err error
		if c.sampler, err = dataset.NewSampler(dataset.All(len(c.examples)), batch, seed+uint64(i)); err != nil {
			return nil, err
		}
	}
	return classes, nil
}
