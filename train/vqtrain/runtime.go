package vqtrain

import (
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/weights"
)

// Runtime returns a runtime over the given variables, such as those that Run
// returned. It is the one the run evaluated with, whose programs are compiled;
// it is the caller's to close.
func (t *Trainer) Runtime(set weights.Set) (*tokenizer.Runtime, error) {
	if err := t.renew(set); err != nil {
		return nil, err
	}
	r := t.runtime
	t.runtime = nil
	return r, nil
}

// renew gives the run's runtime other variables.
func (t *Trainer) renew(set weights.Set) error {
	books, err := tokenizer.Usable(t.backend, t.model, set)
	if err != nil {
		return err
	}
	if t.runtime == nil {
		t.runtime, err = tokenizer.NewRuntime(t.backend, t.model, set, books)
		return err
	}
	return t.runtime.Update(set, books)
}

// encoder is the run's runtime over the current network, for latents before
// there are codes.
func (t *Trainer) encoder() (*tokenizer.Runtime, error) {
	set, err := t.bank.Read("")
	if err != nil {
		return nil, err
	}
	if t.runtime == nil {
		t.runtime, err = tokenizer.NewEncoder(t.backend, t.model, exportable(set))
		return t.runtime, err
	}
	return t.runtime, t.runtime.Update(exportable(set), nil)
}
