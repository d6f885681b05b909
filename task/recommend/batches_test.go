package recommend

import (
	"reflect"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend/network"
)

// Every example comes about once an epoch, in a batch with just the room that its
// history needs.
func TestBatchesHaveTheirRoom(t *testing.T) {
	log, table := carousel(t, 40, 12)
	d := fromLog(t, log, table)
	rooms := []int{1, 2, 4}
	const batch = 8
	classes, err := d.byRoom(rooms, false, batch, 5)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]int{}
	steps := 0
	for _, c := range classes {
		steps += c.batches
		for _, i := range c.examples {
			seen[i]++
			if n := min(4, len(d.Example(i).History)); n > c.room || c.room > 1 && n <= c.room/2 {
				t.Errorf("a history of %d items is given room for %d", n, c.room)
			}
		}
	}
	for i := range d.Examples() {
		if seen[i] != 1 {
			t.Errorf("example %d is in %d classes", i, seen[i])
		}
	}
	m, err := tiny()["generative"].New(sizeOf(table))
	if err != nil {
		t.Fatal(err)
	}
	next, err := d.batches(m.(Learner), batch, 5)
	if err != nil {
		t.Fatal(err)
	}
	shapes := map[int]int{}
	for step := range int64(2 * steps) {
		inputs, err := next(step)
		if err != nil {
			t.Fatal(err)
		}
		again, err := next(step)
		if err != nil {
			t.Fatal(err)
		}
		a, b := tensors.MustCopyFlatData[int32](inputs[0]), tensors.MustCopyFlatData[int32](again[0])
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("step %d differs when asked for again", step)
		}
		shapes[inputs[0].Shape().Dim(1)]++
	}
	if len(shapes) != len(classes) {
		t.Errorf("batches have %d lengths, want %d", len(shapes), len(classes))
	}
	for _, c := range classes {
		if got := shapes[1+c.room*len(table.Vocab())]; got != 2*c.batches {
			t.Errorf("room for %d items: %d batches in two epochs, want %d", c.room, got, 2*c.batches)
		}
	}
}

// A ranker with replaced variables answers as a new one.
func TestUpdatedRanker(t *testing.T) {
	log, table := carousel(t, 20, 12)
	questions := questionsOf(fromLog(t, log, table).Cases(TestPart, 0))
	for kind, c := range tiny() {
		m, err := c.New(sizeOf(table))
		if err != nil {
			t.Fatal(err)
		}
		init := m.(Learner).Init
		answers := func(seeds ...uint64) [][]Scored {
			r, err := m.Ranker(t.Context(), gradtest.Engine(t), init(seeds[0]), &catalogue.Catalogue{Table: table}, network.Options{Depth: 5})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for _, seed := range seeds[1:] {
				if _, err := r.Top(t.Context(), questions[:1], 5); err != nil {
					t.Fatal(err)
				}
				if err := r.Update(t.Context(), init(seed)); err != nil {
					t.Fatal(err)
				}
			}
			lists, err := r.Top(t.Context(), questions, 5)
			if err != nil {
				t.Fatal(err)
			}
			return lists
		}
		fresh, updated := answers(2), answers(1, 2)
		if !reflect.DeepEqual(fresh, updated) {
			t.Errorf("%s: updated variables answer otherwise than new ones", kind)
		}
		if reflect.DeepEqual(fresh, answers(1)) {
			t.Errorf("%s: other variables answer alike, so the update is untested", kind)
		}
	}
}

// A share of the histories begins at a random place, another one at every step; they end
// where they did, and what is left out of a prior stays the whole sequence.
func TestCut(t *testing.T) {
	log, table := carousel(t, 40, 12)
	d := fromLog(t, log, table)
	examples := func() []Example {
		var all []Example
		for i := range d.Examples() {
			all = append(all, d.Example(i))
		}
		return all
	}
	cutAt := func(share float64, step int64) (list []Example, shorter int) {
		list = examples()
		cut(list, share, 7, step)
		for i, before := range examples() {
			e := list[i]
			if n := len(e.History); n == 0 || !reflect.DeepEqual(e.History, before.History[len(before.History)-n:]) ||
				!reflect.DeepEqual(e.Own, before.Own) || e.Target != before.Target {
				t.Fatalf("example %+v became %+v", before, e)
			}
			if len(e.History) < len(before.History) {
				shorter++
			}
		}
		return list, shorter
	}
	if _, n := cutAt(0, 1); n != 0 {
		t.Errorf("%d histories were cut", n)
	}
	first, n := cutAt(0.5, 1)
	if all := d.Examples(); n < all/8 || n > all/2 {
		t.Errorf("%d of %d histories were cut", n, all)
	}
	again, _ := cutAt(0.5, 1)
	if other, _ := cutAt(0.5, 2); !reflect.DeepEqual(first, again) || reflect.DeepEqual(first, other) {
		t.Error("cuts do not depend on the step alone")
	}
}
