package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/gritvq/gritvq/task"
)

// A log shows no time left after a slow first step, and later a plausible one.
func TestLogOfStepsTellsSoundTimes(t *testing.T) {
	s, _, text := silent()
	l := s.Line(20000, task.Steps).(*line)
	due := func() { l.logged = time.Now().Add(-logEvery) }
	due()
	l.Update(1, "loss 2")
	if got := text.String(); got != "step 1/20000  loss 2\n" {
		t.Errorf("after the first step the log is %q", got)
	}
	text.Reset()
	for step := 2; step <= 8; step++ {
		time.Sleep(time.Millisecond)
		if step == 8 {
			due()
		}
		l.Update(int64(step), "loss 2")
	}
	if got := text.String(); !strings.HasPrefix(got, "step 8/20000  loss 2  ETA ") ||
		strings.Contains(got, "µs") || strings.Contains(got, ".") {
		t.Errorf("after eight steps the log is %q, want an ETA in whole seconds", got)
	}
}

// Only training steps are logged, and a terminal sees remarks above its line.
func TestLinesAndRemarks(t *testing.T) {
	s, _, text := silent()
	l := s.Line(10, "rows").(*line)
	l.logged = time.Now().Add(-logEvery)
	l.Update(1, "read")
	l.Status("compiling")
	l.Log("kept")
	l.Done()
	if got := text.String(); got != "kept\n" {
		t.Errorf("the log is %q", got)
	}
	s, _, text = silent()
	s.Terminal = true
	drawn := s.Line(10, "rows")
	drawn.Update(5, "read")
	drawn.Log("unseen")
	s.Remark("note %d", 1)
	drawn.Done()
	s.Remark("after")
	got := text.String()
	if !strings.Contains(got, "\rnote 1\n\r 50%") || !strings.HasSuffix(got, "read\nafter\n") || strings.Contains(got, "unseen") {
		t.Errorf("the terminal shows %q", got)
	}
}

// News stay in a log; routine work between steps does not fill it.
func TestStatusOfARun(t *testing.T) {
	s, _, text := silent()
	run := task.WatchTraining(s, 10)
	for _, status := range []string{
		"evaluating", "placing the codes", "compiling the training step", "the checkpoint x is damaged; continuing from the one before it",
	} {
		run.Status(status)
	}
	want := "compiling the training step\nthe checkpoint x is damaged; continuing from the one before it\n"
	if got := text.String(); got != want {
		t.Errorf("the log is %q, want %q", got, want)
	}
}
