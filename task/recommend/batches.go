package recommend

import (
	"math/rand/v2"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/dataset"
)

// batches returns the inputs of training steps as a function of the step. A batch
// of histories holds examples that need the same room, so that short histories,
// which most are, do not cost as much as long ones; the batches of all rooms come
// in a random order, each room as often as it has examples. Without rooms all
// examples are of one class.
func (d *Dataset) batches(m Learner, batch int, seed uint64) (func(step int64) ([]*tensors.Tensor, error), error) {
	inputs, err := m.Batches(d)
	if err != nil {
		return nil, err
	}
	rooms := m.Rooms()
	_, whole := m.(sequential)
	classes, err := d.byRoom(rooms, whole, batch, seed)
	if err != nil {
		return nil, err
	}
	perEpoch := 0
	for _, c := range classes {
		perEpoch += c.batches
	}
	return func(step int64) ([]*tensors.Tensor, error) {
		epoch, at := step/int64(perEpoch), int(step%int64(perEpoch))
		if rooms != nil {
			at = dataset.NewPermutation(perEpoch, seed^uint64(epoch)*0x9e3779b97f4a7c15).At(at)
		}
		of := 0
		for at >= classes[of].batches {
			at -= classes[of].batches
			of++
		}
		c, rows, examples := classes[of], make([]int, batch), make([]Example, batch)
		c.sampler.Batch(epoch*int64(c.batches)+int64(at), rows)
		for i, row := range rows {
			examples[i] = d.Example(c.examples[row])
		}
		if a, ok := m.(augmenter); ok {
			cut(examples, a.subsequences(), seed, step)
		}
		return inputs(examples, c.room)
	}, nil
}

// cut begins the histories of a share of the examples at a random place.
func cut(examples []Example, share float64, seed uint64, step int64) {
	rng := rand.New(rand.NewPCG(seed, uint64(step)))
	for i := range examples {
		if history := examples[i].History; rng.Float64() < share {
			examples[i].History = history[rng.IntN(max(1, len(history))):]
		}
	}
}

// class is the training examples whose histories need the same room.
type class struct {
	room     int
	examples []int
	batches  int // an epoch
	sampler  *dataset.Sampler
}

// byRoom sorts the training examples, or the last ones of each user, by the smallest
// room for their history, or the largest there is.
func (d *Dataset) byRoom(rooms []int, whole bool, batch int, seed uint64) ([]class, error) {
	classes := make([]class, max(1, len(rooms)))
	for i, room := range rooms {
		classes[i].room = room
	}
	for u := range len(d.first) - 1 {
		first := d.first[u]
		if whole {
			first = max(first, d.first[u+1]-1)
		}
		for i := first; i < d.first[u+1]; i++ {
			at := 0
			for history := i - d.first[u] + 1; at < len(rooms)-1 && history > rooms[at]; {
				at++
			}
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
