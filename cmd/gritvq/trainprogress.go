package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/gritvq/gritvq/internal/progress"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// logEvery is the time between lines where stderr is no terminal.
const logEvery = 10 * time.Second

// trainProgress shows how far a run is: one line in place on a terminal, a line
// every few seconds elsewhere.
type trainProgress struct {
	s      *streams
	line   *progress.Line
	steps  int
	at     int       // last step seen
	last   time.Time // of the last line of a log
	fields string    // usage, from the latest record that carries it
}

func newTrainProgress(s *streams, steps int) *trainProgress {
	return &trainProgress{s: s, line: s.line(steps), steps: steps, last: time.Now()}
}

func (p *trainProgress) observer() vqtrain.Observer {
	return vqtrain.Observer{Step: p.step, Status: p.status}
}

// status says what happens before the next step.
func (p *trainProgress) status(text string) { showStatus(p.s, p.line, p.at, text) }

// showStatus shows what a run does between its steps. A terminal shows it until
// the next step; a log holds what takes long. Anything else is news, such as a
// damaged checkpoint, and stays in both.
func showStatus(s *streams, line *progress.Line, at int, text string) {
	compiling := strings.HasPrefix(text, "compiling ")
	switch {
	case !compiling && text != placing && text != evaluating:
		notice(s, line, text)
	case s.terminal:
		line.Update(int64(at), text+" …")
	case compiling:
		s.Remark("%s", text)
	}
}

// Statuses too short to mention where they stay on the screen.
const (
	placing    = "placing the codes"
	evaluating = "evaluating"
)

// notice prints a line that stays, above the progress.
func notice(s *streams, line *progress.Line, text string) {
	if s.terminal {
		line.Println(text)
		return
	}
	s.Remark("%s", text)
}

func (p *trainProgress) step(r vqtrain.Record) {
	p.at = r.Step
	if r.Levels != nil {
		p.fields = fmt.Sprintf("  utilization %s  perplexity %s", report.Percent(r.Utilization, 1), report.Number(r.Perplexity, 4))
	}
	fields := "loss " + report.Number(r.Loss, 3) + p.fields
	if r.Phase != "train" {
		fields = r.Phase + "  " + fields
	}
	if r.Event != "" {
		notice(p.s, p.line, fmt.Sprintf("step %d: %s", r.Step, r.Event))
	}
	p.line.Update(int64(r.Step), fields)
	logStep(p.s, p.line, &p.last, r.Step, p.steps, fields)
}

// logStep prints how far a run is where stderr is no terminal and the last such
// line is some seconds old.
func logStep(s *streams, line *progress.Line, last *time.Time, step, steps int, fields string) {
	now := time.Now()
	if s.terminal || now.Sub(*last) < logEvery {
		return
	}
	*last = now
	if left, ok := line.Left(); ok {
		fields += "  ETA " + report.Duration(left.Round(time.Second))
	}
	s.Remark("step %d/%d  %s", step, steps, fields)
}

func (p *trainProgress) done() { p.line.Done() }
