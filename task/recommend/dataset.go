package recommend

import (
	"fmt"
	"slices"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/internal/fingerprint"
	"github.com/gritvq/gritvq/task/catalogue"
)

// Part is the use of a question.
type Part = interactions.Part

// The parts of a dataset.
const (
	TrainPart      = interactions.TrainPart
	ValidationPart = interactions.ValidationPart
	TestPart       = interactions.TestPart
)

// Case is a question and its relevant items, rows of the table in ascending
// order.
type Case struct {
	Question
	Relevant []int32
}

// Dataset holds questions with their relevant items, rows of a catalogue's table.
type Dataset struct {
	Table *catalogue.Table
	// Items are the items of the table with their texts; nil if they have none.
	Items *interactions.Catalogue
	// Users is the number of users of a log, Queries of training searches.
	Users, Queries int
	// Seen says whether items of a history may be found again.
	Seen Seen
	// Fingerprint identifies the questions, their parts and their relevant items.
	Fingerprint string

	purpose *Purpose
	name    string // in messages
	order   string // of the log's rows: training depends on it, ranks do not
	cases   map[Part][]Case
	first   []int // training examples before each training case; the last entry counts all
	targets []int // training examples that have each row as their target
	seen    []int // occurrences of each row in training
}

func newDataset(p *Purpose, name string, table *catalogue.Table) *Dataset {
	return &Dataset{Table: table, purpose: p, name: name, cases: map[Part][]Case{}, first: []int{0},
		targets: make([]int, table.Len()), seen: make([]int, table.Len())}
}

// FromLog makes a dataset of a log: of every user the last item is for testing,
// the one before for validation, and every other item but the first is once the
// target of an example. It fails on items without an ID.
func FromLog(log *interactions.Log, table *catalogue.Table) (*Dataset, error) {
	rows, err := rowsOf(log.Items(), log.Item, table, log.Path())
	if err != nil {
		return nil, err
	}
	d := newDataset(Recommending, log.Path(), table)
	d.Users, d.Fingerprint, d.order = log.Users(), log.Fingerprint(), log.Order()
	d.Seen = DropSeen
	if log.Repeats() {
		d.Seen = KeepSeen
	}
	for u := range log.Users() {
		sequence := make([]int32, len(log.Sequence(u)))
		for i, item := range log.Sequence(u) {
			sequence[i] = rows[item]
		}
		past := func(n int) Question { return Question{Name: log.User(u), History: sequence[:n:n]} }
		trained := len(log.Train(u))
		for i, row := range sequence[:trained] {
			d.seen[row]++
			if i > 0 {
				d.targets[row]++
			}
		}
		d.add(TrainPart, Case{Question: past(trained)}, max(0, trained-1))
		if history, _, ok := log.Validation(u); ok {
			n := len(history)
			d.add(ValidationPart, Case{past(n), sequence[n : n+1]}, 0)
			d.add(TestPart, Case{past(n + 1), sequence[n+1 : n+2]}, 0)
		}
	}
	return d, nil
}

// withoutID is the error of items that the table lacks.
type withoutID struct{ error }

// rowsOf finds items in a table; data is what names them.
func rowsOf(n int, item func(i int) string, table *catalogue.Table, data string) ([]int32, error) {
	rows := make([]int32, n)
	var missing []string
	for i := range rows {
		row, ok := table.Row(item(i))
		if !ok {
			missing = append(missing, item(i))
		}
		rows[i] = int32(row)
	}
	const advice = "gritvq ids add, or use the catalogue that they are of"
	switch len(missing) {
	case 0:
		return rows, nil
	case 1:
		return nil, withoutID{fmt.Errorf("item %q of %s has no ID; add it with %s", missing[0], data, advice)}
	}
	return nil, withoutID{fmt.Errorf("%d of the %d items of %s have no ID, such as %q; add them with %s",
		len(missing), n, data, missing[0], advice)}
}

// FromSearches makes a dataset of searches: every answer of a training search is
// once the target of an example. It fails on an answer without an ID, and on a
// part without searches.
func FromSearches(q *interactions.Queries, table *catalogue.Table) (*Dataset, error) {
	d := newDataset(Searching, "", table)
	answering := answersOf(q)
	rows, err := rowsOf(len(answering), func(i int) string { return q.Catalogue.Items[answering[i]].ID }, table, "the searches")
	if err != nil {
		return nil, err
	}
	rowOf := make(map[int32]int32, len(rows))
	for i, item := range answering {
		rowOf[item] = rows[i]
	}
	for _, query := range q.List {
		answers := make([]int32, len(query.Answers))
		for i, answer := range query.Answers {
			answers[i] = rowOf[answer]
		}
		slices.Sort(answers)
		d.add(query.Part, Case{Question{Name: query.ID, Text: query.Text}, answers}, len(answers))
		if query.Part == TrainPart {
			for _, row := range answers {
				d.targets[row]++
				d.seen[row]++
			}
		}
	}
	h := fingerprint.New()
	for _, part := range []Part{TrainPart, ValidationPart, TestPart} {
		if len(d.cases[part]) == 0 {
			return nil, fmt.Errorf("of %d searches none is for %s; give more of them", len(q.List), part)
		}
		h.Number(uint64(len(d.cases[part])))
		for _, c := range d.cases[part] {
			h.Text(c.Text)
			h.Number(uint64(len(c.Relevant)))
			for _, row := range c.Relevant {
				h.Text(table.Key(int(row)))
			}
		}
	}
	d.Queries, d.Fingerprint = len(d.cases[TrainPart]), h.String()
	return d, nil
}

// answersOf lists the items that answer any search, ascending: a catalogue may have others.
func answersOf(q *interactions.Queries) []int32 {
	var all []int32
	for _, query := range q.List {
		all = append(all, query.Answers...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// add appends a case; a training case counts for the given number of examples.
func (d *Dataset) add(part Part, c Case, examples int) {
	if part == TrainPart {
		d.first = append(d.first, d.Examples()+examples)
	}
	d.cases[part] = append(d.cases[part], c)
}

// catalogue is the table with its items.
func (d *Dataset) catalogue() *catalogue.Catalogue {
	return &catalogue.Catalogue{Table: d.Table, Items: d.Items}
}

// text is the text of a row, empty if it has none.
func (d *Dataset) text(row int) string {
	if d.Items == nil {
		return ""
	}
	if at, ok := d.Items.Row(d.Table.Key(row)); ok {
		return d.Items.Items[at].Text
	}
	return ""
}

// identity names all that training depends on.
func (d *Dataset) identity() string {
	return d.Fingerprint + " " + d.order + " " + d.Table.Fingerprint() + " " + string(d.Seen)
}

// Examples is the number of training examples.
func (d *Dataset) Examples() int { return d.first[len(d.first)-1] }

// Example returns training example i.
func (d *Dataset) Example(i int) Example {
	at, _ := slices.BinarySearch(d.first, i+1)
	c, place := d.cases[TrainPart][at-1], i-d.first[at-1]
	if c.Relevant != nil {
		return Example{Question: c.Question, Target: c.Relevant[place], Relevant: c.Relevant}
	}
	e := Example{Question: c.Question, Target: c.History[place+1], Own: c.History}
	e.History = c.History[:place+1]
	return e
}

// Cases returns the questions of a part, at most limit of them, evenly spaced
// (0: all). A user with a sequence of fewer than three items has no held-out
// question. The caller must not modify the lists.
func (d *Dataset) Cases(part Part, limit int) []Case {
	all := d.cases[part]
	if limit <= 0 || limit >= len(all) {
		return all
	}
	step := (len(all) + limit - 1) / limit
	var chosen []Case
	for i := 0; i < len(all); i += step {
		chosen = append(chosen, all[i])
	}
	return chosen
}

// Cold marks the questions of a part whose relevant items each occur at most the
// given number of times in training.
func (d *Dataset) Cold(part Part, atMost int) []bool {
	cold := make([]bool, len(d.cases[part]))
	for i, c := range d.cases[part] {
		cold[i] = !slices.ContainsFunc(c.Relevant, func(row int32) bool { return d.seen[row] > atMost })
	}
	return cold
}

// Trainable reports why nothing can be learned from the data.
func (d *Dataset) Trainable() error {
	if len(d.cases[ValidationPart]) == 0 {
		return d.nobody()
	}
	if d.Examples() == 0 {
		return fmt.Errorf("%s has no user with two items to learn from beside the two that are held out", d.name)
	}
	return nil
}

// nobody is the error of a log without held-out items.
func (d *Dataset) nobody() error {
	return fmt.Errorf("%s has no user of three items or more, so there is nothing to validate or test with", d.name)
}
