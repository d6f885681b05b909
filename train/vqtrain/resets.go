package vqtrain

import (
	"fmt"
	"slices"

	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// maybeReset scans for dead codes when a scan is due and moves them onto residuals
// of the current batch, or beside used codes.
func (t *Trainer) maybeReset(s *train.Step) error {
	c := t.config.Quantizer.Resets
	if c.Every == 0 || s.Step%c.Every != 0 || float64(s.Step) > c.Until*float64(t.config.Train.Steps) || t.finishing(s.Step) {
		return nil
	}
	w := t.state.Window
	if c.Rule == vq.RuleBatches {
		defer w.scanned()
		return t.reset(s, t.movable(func(slots []int) []int { return w.unused(c.Threshold, slots...) }))
	}
	return t.reset(s, t.movable(func(slots []int) []int { return w.dead(c.Threshold, slots...) }))
}

// movable lists the chosen codes of every codebook, without those that must stay.
func (t *Trainer) movable(choose func(slots []int) []int) (books []deadBook) {
	for _, slots := range t.model.Quantizer.Layout().Books() {
		kept := t.keptCodes(slots[0])
		codes := slices.DeleteFunc(choose(slots), func(code int) bool { return code < kept })
		if len(codes) > 0 {
			books = append(books, deadBook{slots, codes})
		}
	}
	return books
}

// reset moves codes onto residuals of the current batch, or beside used codes.
func (t *Trainer) reset(s *train.Step, books []deadBook) error {
	if len(books) == 0 {
		return nil
	}
	donate, err := t.donors(s.Inputs[0])
	if err != nil {
		return fmt.Errorf("resetting dead codes: %w", err)
	}
	set, err := t.bank.Read(vq.Prefix)
	if err != nil {
		return err
	}
	var touched []vq.Touched
	moved := 0
	for _, book := range books {
		rng := weights.Rand(t.config.Seed, fmt.Sprintf("reset %d %d", s.Step, book.slots[0]))
		targets, rows := donate(book, rng)
		if rows == 0 {
			continue
		}
		if len(book.codes) > rows { // any of them, or high codes would wait for ever
			rng.Shuffle(len(book.codes), func(i, j int) { book.codes[i], book.codes[j] = book.codes[j], book.codes[i] })
		}
		at, err := vq.Place(t.model.Quantizer, set, book.slots[0], book.codes[:rows], targets)
		if err != nil {
			// A mixer may leave no way to a target; the codes keep their places
			// and the next scan tries others.
			s.Event = fmt.Sprintf("%d dead codes could not be moved: %v", rows, err)
			continue
		}
		touched = append(touched, at...)
		moved += rows
		for _, slot := range book.slots {
			t.state.Window.forget(slot)
		}
	}
	if moved == 0 {
		return nil
	}
	if err := t.replace(set, touched); err != nil {
		return err
	}
	t.state.Resets, t.record.Reset = t.state.Resets+moved, moved
	return nil
}

// deadBook is a codebook, named by the slots that use it (see [vq.Layout]), and its
// dead codes.
type deadBook struct {
	slots, codes []int
}

// replace writes quantizer variables changed on the host back, forgets the
// optimizer's moments of the touched rows, and carries those rows into the
// averaged weights and the cache, so that a reset sticks.
func (t *Trainer) replace(set weights.Set, touched []vq.Touched) error {
	changed := weights.Set{}.Merge(vq.Prefix, set)
	for _, slot := range append(t.config.Train.Optimizer.Slots(), optim.Slot{Prefix: train.AveragePrefix}) {
		prefix := slot.Prefix + vq.Prefix
		shadows, err := t.bank.Read(prefix)
		if err != nil {
			return err
		}
		for _, at := range touched {
			shadow, ok := shadows[at.Path]
			if !ok {
				continue
			}
			changed[prefix+"/"+at.Path] = shadow
			row := shadow.Row(at.Row)
			for i := range row {
				row[i] = slot.Start
			}
			if slot.Prefix == train.AveragePrefix {
				copy(row, set[at.Path].Row(at.Row))
			}
		}
	}
	if err := t.bank.Install(changed); err != nil {
		return err
	}
	if t.config.Quantizer.Cache.Period > 1 {
		return t.refreshCache(false)
	}
	return nil
}

// rewire keeps the neighbours of top-k attention up to date.
func (t *Trainer) rewire(step int) error {
	q := t.config.Quantizer
	if !q.Transform.Refreshes() || step%max(rewireEvery, q.Cache.Period) != 0 || t.finishing(step) {
		return nil
	}
	set, err := t.bank.Read(vq.Prefix)
	if err != nil {
		return err
	}
	if err := vq.Rewire(t.model.Quantizer, set); err != nil {
		return fmt.Errorf("finding neighbours of codes: %w", err)
	}
	return t.bank.Install(t.thawed(weights.Set{}.Merge(vq.Prefix, set)))
}

// rewireEvery is the least number of steps between neighbour searches: codes
// move slowly compared with the distances between them.
const rewireEvery = 100
