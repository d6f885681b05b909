package tokenize

import (
	"encoding/json"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/tokenizer"
)

// Trained is a finished run. Its JSON is that of gritvq train --json.
type Trained struct {
	Dir    string
	Bundle *bundle.Bundle
	Report string // path of the page
}

// MarshalJSON writes what a record of the run needs.
func (t *Trained) MarshalJSON() ([]byte, error) {
	m := t.Bundle.Manifest
	held, train := m.Metrics.Results()
	return json.Marshal(struct {
		Bundle  string      `json:"bundle"`
		Report  string      `json:"report"`
		Steps   int         `json:"steps"`
		Seconds float64     `json:"seconds"`
		Data    bundle.Data `json:"data"`
		// Scores; null without held-out items.
		Held  tokenizer.Result `json:"held"`
		Train tokenizer.Result `json:"train"`
		// Reference is a classical method on the same held-out items; null if none was measured.
		Reference *tokenizer.Reference `json:"reference"`
		// Advice are sentences about a run that stopped early, ended too early or lost against the reference.
		Advice     []string `json:"advice"`
		ConfigHash string   `json:"config_hash"`
		CreatedBy  string   `json:"created_by"` // version and commit
	}{t.Dir, t.Report, m.Training.Steps, m.Training.Seconds, m.Data, held, train, m.Metrics.Reference, m.Training.Advice,
		m.ConfigHash, m.CreatedBy})
}
