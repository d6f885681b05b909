package train

import (
	"fmt"
	"math"
)

const (
	flatTolerance = 1e-3 // part of a score that is no improvement
	flatLeast     = 2    // evaluations without one before a run is flat
	flatSteps     = 100  // steps that a stop must have been flat for: shorter runs are not worth stopping
)

// flat is where the evaluations of a run came to rest.
type flat struct {
	Level float64 `json:"level"` // the score
	Step  int     `json:"step"`  // when it was reached
	Since int     `json:"since"` // evaluations after it
}

// watchFlat ends a run whose score has been flat for the configured share of its steps.
func (t *Trainer) watchFlat(score float64, r *Record) {
	if math.IsNaN(score) || math.IsInf(score, 0) {
		return
	}
	f := t.state.Flat
	if f == nil || score-f.Level > flatTolerance*math.Abs(f.Level) {
		t.state.Flat = &flat{Level: score, Step: t.state.Step}
		return
	}
	f.Since++
	long, steps := t.state.Step-f.Step, t.config.Steps
	enough := max(flatSteps, t.config.Flat*float64(steps))
	if t.config.Flat > 0 && f.Since >= flatLeast && float64(long) >= enough && t.state.Step < steps {
		t.state.Stopped = true
		r.Event = fmt.Sprintf("the score has been flat since step %d, for %.0f %% of the steps: stopping early (train.flat: 0 trains on)",
			f.Step, 100*float64(long)/float64(steps))
	}
}
