package main

import (
	"testing"

	"github.com/gritvq/gritvq/task"
)

// News stay in a log; what is being done between steps does not fill it.
func TestStatusOfARun(t *testing.T) {
	s, _, text := silent()
	run := task.WatchTraining(s, 10)
	for _, status := range []string{
		"evaluating", "placing the codes", "compiling the training step", "the checkpoint x is damaged; continuing from the one before it",
	} {
		run.Status(status)
	}
	if got, want := text.String(), "compiling the training step\nthe checkpoint x is damaged; continuing from the one before it\n"; got != want {
		t.Errorf("the log is %q, want %q", got, want)
	}
}
