package recommend

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/train"
)

// Settings make a configuration: defaults of the kind < File < Set.
type Settings struct {
	Purpose *Purpose
	Model   string   // the kind; empty is the first that can read File
	File    string   // in YAML; may be empty
	Set     []string // assignments, such as model.dropout=0.2
}

// Config returns the configuration. A short run evaluates and warms up in
// proportion unless the file or an assignment says otherwise. Errors are of usage.
func (s Settings) Config() (Config, error) {
	var document []byte
	if s.File != "" {
		var err error
		if document, err = memory.ReadFile(s.File); err != nil {
			return nil, usage.Errorf("cannot read the configuration: %w", err)
		}
	}
	fits := s.fitting(document)
	c, err := Default(s.Purpose, cmp.Or(s.Model, fits, Kinds(s.Purpose)[0]))
	if err != nil {
		return nil, usage.Errorf("--model: %w", err)
	}
	if s.File != "" {
		err = config.Decode(document, c)
	}
	switch {
	case err != nil && s.Model != "" && fits != "":
		return nil, usage.Errorf("%s is a configuration of a %s model: leave out --model %s, or give a file for that", s.File, fits, s.Model)
	case err != nil:
		return nil, usage.Errorf("%s: %w", s.File, err)
	}
	for _, assignment := range s.Set {
		if err := config.Set(c, assignment); err != nil {
			return nil, usage.Errorf("--set %s: %w", assignment, err)
		}
	}
	if fixed, ok := c.(interface{ Fix() }); ok && !config.Assigns(s.Set, "choose") && assignsBelow(s.Set, "model.") {
		fixed.Fix()
	}
	if t := c.Training(); t != nil {
		s.fitToSteps(t, c.Kind().Default().Training())
	}
	if err := c.Validate(); err != nil {
		return nil, usage.Error{Err: err}
	}
	return c, nil
}

// assignsBelow reports whether an assignment sets a key of a section.
func assignsBelow(assignments []string, section string) bool {
	return slices.ContainsFunc(assignments, func(a string) bool { return strings.HasPrefix(strings.TrimSpace(a), section) })
}

// fitting returns the first kind that can read a document; none if it is empty.
func (s Settings) fitting(document []byte) string {
	for _, k := range kinds {
		if document != nil && k.Purpose == s.Purpose && config.Decode(document, k.Default()) == nil {
			return k.Name
		}
	}
	return ""
}

// fitToSteps shortens periods that are too long for a short run, unless they differ
// from the preset or an assignment names them.
func (s Settings) fitToSteps(t, preset *train.Config) {
	if t.Evaluate == preset.Evaluate && !config.Assigns(s.Set, "train.evaluate") {
		t.Evaluate = max(1, min(t.Evaluate, t.Steps/4))
	}
	if t.Schedule.Warmup == preset.Schedule.Warmup && !config.Assigns(s.Set, "train.schedule.warmup") {
		t.Schedule.Warmup = min(t.Schedule.Warmup, max(1, t.Steps/10))
	}
}
