package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// A log tells no time left after a slow first step, and later one that fits.
func TestLogOfStepsTellsSoundTimes(t *testing.T) {
	s, _, text := silent()
	p := newLearnProgress(s, 20000)
	due := func() { p.last = time.Now().Add(-logEvery) }
	due()
	p.step(train.Record{Step: 1, Loss: 2})
	if got := text.String(); got != "step 1/20000  loss 2\n" {
		t.Errorf("after the first step the log is %q", got)
	}
	text.Reset()
	for step := 2; step <= 8; step++ {
		time.Sleep(time.Millisecond)
		if step == 8 {
			due()
		}
		p.step(train.Record{Step: step, Loss: 2})
	}
	if got := text.String(); !strings.HasPrefix(got, "step 8/20000  loss 2  ETA ") || strings.Contains(got, "µs") || strings.Contains(got, ".") {
		t.Errorf("after eight steps the log is %q, want an ETA in whole seconds", got)
	}
}

// News stay in a log; what is being done between steps does not fill it.
func TestStatusOfARun(t *testing.T) {
	s, _, text := silent()
	observe := newLearnProgress(s, 10).observer()
	for _, status := range []string{evaluating, placing, "compiling the training step", "the checkpoint x is damaged; continuing from the one before it"} {
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
