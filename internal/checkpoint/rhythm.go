package checkpoint

import "time"

// longest is the time after which a checkpoint is due however few steps were
// taken: a kill costs no more.
const longest = 3 * time.Minute

// Rhythm says when a checkpoint is due: every so many steps, and sooner where
// steps are slow.
type Rhythm struct {
	steps   int
	longest time.Duration
	last    time.Time
}

// NewRhythm starts a run's rhythm now.
func NewRhythm(steps int) *Rhythm { return &Rhythm{steps: steps, longest: longest, last: time.Now()} }

// Due says whether to save after a step, and takes it that the caller does.
func (r *Rhythm) Due(step int) bool {
	if step%r.steps != 0 && time.Since(r.last) < r.longest {
		return false
	}
	r.last = time.Now()
	return true
}
