package recommend

import (
	"fmt"
	"slices"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/task/catalogue"
)

// Dataset ties a log of interactions to the IDs of a catalogue. Items are rows
// of the catalogue's table.
type Dataset struct {
	Table *catalogue.Table

	log   *interactions.Log
	rows  []int32 // of the table, by item of the log
	first []int   // training examples before each user; the last entry counts all
}

// NewDataset finds every item of the log in the table. It fails on items without
// an ID.
func NewDataset(log *interactions.Log, table *catalogue.Table) (*Dataset, error) {
	d := &Dataset{Table: table, log: log, rows: make([]int32, log.Items()), first: make([]int, log.Users()+1)}
	var missing []string
	for i := range d.rows {
		row, ok := table.Row(log.Item(i))
		if !ok {
			missing = append(missing, log.Item(i))
		}
		d.rows[i] = int32(row)
	}
	switch len(missing) {
	case 0:
	case 1:
		return nil, fmt.Errorf("item %q of %s has no ID; add it with gritvq ids add, or use the catalogue that the log is of", missing[0], log.Path())
	default:
		return nil, fmt.Errorf("%d of the %d items of %s have no ID, such as %q; add them with gritvq ids add, or use the catalogue that the log is of", len(missing), log.Items(), log.Path(), missing[0])
	}
	for u := range log.Users() {
		d.first[u+1] = d.first[u] + max(0, len(log.Train(u))-1)
	}
	return d, nil
}

// Fingerprint identifies the log.
func (d *Dataset) Fingerprint() string { return d.log.Fingerprint() }

// Examples is the number of training examples: every item of a user's training
// sequence but the first is a target once, after those before it.
func (d *Dataset) Examples() int { return d.first[len(d.first)-1] }

// targets counts in how many training examples each row of the table is the
// target.
func (d *Dataset) targets() []int {
	counts := make([]int, d.Table.Len())
	for u := range d.log.Users() {
		for at, item := range d.log.Train(u) {
			if at > 0 {
				counts[d.rows[item]]++
			}
		}
	}
	return counts
}

// example is training example i.
func (d *Dataset) example(i, history int) Example {
	user, _ := slices.BinarySearch(d.first, i+1)
	user--
	sequence, target := d.log.Train(user), i-d.first[user]+1
	return Example{Query: d.query(user, interactions.Recent(sequence[:target], history)), Target: d.rows[sequence[target]]}
}

func (d *Dataset) query(user int, past []int32) Query {
	q := Query{User: d.log.User(user), History: make([]int32, len(past))}
	for i, item := range past {
		q.History[i] = d.rows[item]
	}
	return q
}

// Part is what a user's last items are for.
type Part int

// The parts of a log that are held out.
const (
	Validation Part = iota // the last item but one
	Test                   // the last one
)

// held returns the item of a user that a part holds out, and what came before.
func (d *Dataset) held(part Part, user int) (past []int32, target int32, ok bool) {
	if part == Test {
		return d.log.Test(user)
	}
	return d.log.Validation(user)
}

// Queries returns the held-out questions of a part, with all that came before,
// and their answers; users with too short a sequence have none. At most limit
// users, evenly spaced (0: all).
func (d *Dataset) Queries(part Part, limit int) (queries []Query, targets []int32) {
	var users []int
	for u := range d.log.Users() {
		if _, _, ok := d.held(part, u); ok {
			users = append(users, u)
		}
	}
	step := 1
	if limit > 0 {
		step = max(1, (len(users)+limit-1)/limit)
	}
	for i := 0; i < len(users); i += step {
		past, target, _ := d.held(part, users[i])
		queries, targets = append(queries, d.query(users[i], past)), append(targets, d.rows[target])
	}
	return queries, targets
}

// Trainable reports why nothing can be learned from the log.
func (d *Dataset) Trainable() error {
	if queries, _ := d.Queries(Validation, 1); len(queries) == 0 {
		return d.nobody()
	}
	if d.Examples() == 0 {
		return fmt.Errorf("%s has no user with two items to learn from beside the two that are held out", d.log.Path())
	}
	return nil
}

// nobody is the error of a log that holds nothing out.
func (d *Dataset) nobody() error {
	return fmt.Errorf("%s has no user of three items or more, so there is nothing to validate or test with", d.log.Path())
}

// Cold marks the users of a part whose held-out item occurs at most so often in
// the training sequences, in the order of Rank's users.
func (d *Dataset) Cold(part Part, atMost int) []bool {
	counts := d.log.TrainCounts()
	var cold []bool
	for u := range d.log.Users() {
		if _, target, ok := d.held(part, u); ok {
			cold = append(cold, counts[target] <= atMost)
		}
	}
	return cold
}
