package recommend

import (
	"slices"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/dataset"
)

// batches returns the inputs of training steps, a function of the step. A batch
// holds examples whose histories need the same room, so that short ones, which
// most are, do not cost what long ones do; the rooms' batches come in a random
// order, each as often as it has examples.
func (d *Dataset) batches(m Model, batch int, seed uint64) (func(step int64) ([]*tensors.Tensor, error), error) {
	inputs, err := m.Batches(d)
	if err != nil {
		return nil, err
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
			if at >= c.batches {
				at -= c.batches
				continue
			}
			rows := make([]int, batch)
			c.sampler.Batch(epoch*int64(c.batches)+int64(at), rows)
			examples := make([]Example, batch)
			for i, row := range rows {
				examples[i] = d.example(c.examples[row], c.room)
			}
			return inputs(examples, c.room)
		}
		panic("recommender: a step without a batch")
	}, nil
}

// class is the training examples whose histories need the same room.
type class struct {
	room     int
	examples []int
	batches  int // an epoch
	sampler  *dataset.Sampler
}

// byRoom sorts the training examples by the smallest room that holds what is
// read of their history.
func (d *Dataset) byRoom(rooms []int, batch int, seed uint64) ([]class, error) {
	classes := make([]class, len(rooms))
	for i := range classes {
		classes[i].room = rooms[i]
	}
	for u := range d.log.Users() {
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
