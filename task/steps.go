package task

import (
	"fmt"
	"slices"
	"strings"
)

// Steps are the units of a Line that counts training steps.
const Steps = "steps"

// Training shows a training run to a Watcher. Done ends it.
type Training struct {
	watch Watcher
	line  Line
	total int
	at    int // last step
}

// WatchTraining starts to show a run of total steps.
func WatchTraining(watch Watcher, total int) *Training {
	return &Training{watch: watch, line: watch.Line(total, Steps), total: total}
}

// Step tells that a step is done, with its scores as text. An event, such as
// revived codes, stays visible.
func (t *Training) Step(step int, text, event string) {
	t.at = step
	if event != "" {
		t.watch.Remark("step %d: %s", step, event)
	}
	t.line.Update(int64(step), text)
}

// Of changes the total number of steps.
func (t *Training) Of(total int) {
	if total != t.total {
		t.total = total
		t.line.Of(int64(total), Steps)
	}
}

// routine is work between steps that nobody needs to read later.
var routine = []string{"placing the codes", "evaluating", "fitting the classical start", "measuring the start"}

// Status shows work between steps. Texts that are not routine, such as a damaged
// checkpoint, stay visible.
func (t *Training) Status(text string) {
	compiling := strings.HasPrefix(text, "compiling ")
	if !compiling && !slices.Contains(routine, text) {
		t.watch.Remark("%s", text)
		return
	}
	t.line.Status(text)
	if compiling { // long enough for a log
		t.line.Log(text)
	}
}

// Log keeps a text about the last step where the progress line cannot be redrawn.
func (t *Training) Log(text string) { t.line.Log(fmt.Sprintf("step %d%s", t.at, text)) }

// Stopped adds the step and the way to resume to the error of an interrupted
// run.
func (t *Training) Stopped(interrupted error) error {
	at := ""
	if t.at > 0 {
		at = fmt.Sprintf(" at step %d of %d", t.at, t.total)
	}
	return fmt.Errorf("%w%s; repeat the command with --resume to continue", interrupted, at)
}

// Done ends the progress line.
func (t *Training) Done() { t.line.Done() }
