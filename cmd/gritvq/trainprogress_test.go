package main

import (
	"errors"
	"testing"

	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// News stay in a log; what is being done between steps does not fill it.
func TestStatusOfARun(t *testing.T) {
	s, _, text := silent()
	observe := newLearnProgress(s, 10).observer()
	for _, status := range []string{"evaluating", "placing the codes", "compiling the training step", "the checkpoint x is damaged; continuing from the one before it"} {
		observe.Status(status)
	}
	if got, want := text.String(), "compiling the training step\nthe checkpoint x is damaged; continuing from the one before it\n"; got != want {
		t.Errorf("the log is %q, want %q", got, want)
	}
}

// A recommender's run says where it stopped and where it goes on.
func TestInterruptedRunTellsItsSteps(t *testing.T) {
	s, _, text := silent()
	p := newLearnProgress(s, 100)
	p.step(train.Record{Step: 41, Loss: 2})
	if got := text.String(); got != "continuing after step 40 of 100\n" {
		t.Errorf("the log of a resumed run is %q", got)
	}
	if got := p.stopped(train.ErrInterrupted); got.Error() != "interrupted at step 41 of 100; repeat the command with --resume to continue" || !errors.Is(got, vqtrain.ErrInterrupted) {
		t.Errorf("an interrupted run ends with %v", got)
	}
	if other := errors.New("disk full"); p.stopped(other) != other {
		t.Error("another error is explained as an interruption")
	}
}
