package retrieval

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/internal/fingerprint"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/twotower"
)

// Dataset ties searches to the IDs of a catalogue. Answers are rows of the
// catalogue's table.
type Dataset struct {
	Table *catalogue.Table

	parts  map[interactions.Part][]interactions.Query
	first  []int // training pairs before each training search; the last entry counts all
	counts []int // training pairs that each row answers
}

// NewDataset finds the answers of all searches in the table. It fails on one
// without an ID.
func NewDataset(q *interactions.Queries, table *catalogue.Table) (*Dataset, error) {
	d := &Dataset{Table: table, parts: map[interactions.Part][]interactions.Query{}, first: []int{0}, counts: make([]int, table.Len())}
	for _, query := range q.List {
		answers := make([]int32, len(query.Answers))
		for i, answer := range query.Answers {
			name := q.Catalogue.Items[answer].ID
			row, ok := table.Row(name)
			if !ok {
				return nil, fmt.Errorf("item %q answers %q and has no ID; add it with gritvq ids add, or use the catalogue that the searches are of", name, query.Text)
			}
			answers[i] = int32(row)
		}
		slices.Sort(answers)
		query.Answers = answers
		d.parts[query.Part] = append(d.parts[query.Part], query)
		if query.Part == interactions.TrainPart {
			d.first = append(d.first, d.Pairs()+len(answers))
			for _, row := range answers {
				d.counts[row]++
			}
		}
	}
	for _, part := range []interactions.Part{interactions.TrainPart, interactions.ValidationPart, interactions.TestPart} {
		if len(d.parts[part]) == 0 {
			return nil, fmt.Errorf("of %d searches none is for %s; give more of them", len(q.List), part)
		}
	}
	return d, nil
}

// Pairs is the number of training pairs, of a search and one of its answers.
func (d *Dataset) Pairs() int { return d.first[len(d.first)-1] }

// Fingerprint identifies the searches, what they are for and their answers.
func (d *Dataset) Fingerprint() string {
	h := fingerprint.New()
	for _, part := range []interactions.Part{interactions.TrainPart, interactions.ValidationPart, interactions.TestPart} {
		h.Number(uint64(len(d.parts[part])))
		for _, query := range d.parts[part] {
			h.Text(query.Text)
			h.Number(uint64(len(query.Answers)))
			for _, row := range query.Answers {
				h.Text(d.Table.Key(int(row)))
			}
		}
	}
	return h.String()
}

// Queries returns the searches of a part, in order. The caller must not modify
// them.
func (d *Dataset) Queries(part interactions.Part) []interactions.Query {
	return d.parts[part]
}

// pair is training pair i.
func (d *Dataset) pair(i int, m *twotower.Model) twotower.Example {
	at, _ := slices.BinarySearch(d.first, i+1)
	at--
	query := d.parts[interactions.TrainPart][at]
	target := query.Answers[i-d.first[at]]
	share := float64(d.counts[target]) / float64(d.Pairs())
	return twotower.Example{Query: m.Words(query.Text), Target: target, Answers: query.Answers, LogShare: float32(math.Log(share))}
}

// batches returns the inputs of training steps, a function of the step: every
// epoch visits every pair once.
func (d *Dataset) batches(m *twotower.Model, batch int, seed uint64) (func(step int64) ([]*tensors.Tensor, error), error) {
	sampler, err := dataset.NewSampler(dataset.All(d.Pairs()), batch, seed)
	if err != nil {
		return nil, err
	}
	items, err := m.Items(d.Table.IDs(), d.Table.Vocab())
	if err != nil {
		return nil, err
	}
	return func(step int64) ([]*tensors.Tensor, error) {
		rows := make([]int, batch)
		sampler.Batch(step, rows)
		examples := make([]twotower.Example, batch)
		for i, row := range rows {
			examples[i] = d.pair(row, m)
		}
		return m.Batch(items, examples)
	}, nil
}

// Cold marks the searches of a part none of whose answers occurs more than so
// often in the training pairs.
func (d *Dataset) Cold(part interactions.Part, atMost int) []bool {
	cold := make([]bool, len(d.parts[part]))
	for i, query := range d.parts[part] {
		cold[i] = !slices.ContainsFunc(query.Answers, func(row int32) bool { return d.counts[row] > atMost })
	}
	return cold
}
