package main

import (
	"fmt"
	"time"

	"github.com/gritvq/gritvq/fit"
	"github.com/gritvq/gritvq/internal/progress"
	"github.com/gritvq/gritvq/report"
)

// logEvery is the time between lines where stderr is no terminal.
const logEvery = 10 * time.Second

// trainProgress shows how far a run is: one line in place on a terminal, a line
// every few seconds elsewhere.
type trainProgress struct {
	s           *streams
	line        *progress.Line
	steps       int
	first       int // first step seen, for the speed
	at          int // last step seen
	begun, last time.Time
	fields      string // usage, from the latest record that carries it
}

func newTrainProgress(s *streams, steps int) *trainProgress {
	now := time.Now()
	return &trainProgress{s: s, line: s.line(steps), steps: steps, begun: now, last: now}
}

func (p *trainProgress) observer() fit.Observer {
	return fit.Observer{Step: p.step, Status: p.status}
}

// status says what happens before the next step.
func (p *trainProgress) status(text string) {
	if p.s.terminal {
		p.line.Update(int64(p.at), text+" …")
	} else if text != placing {
		p.s.remark("%s", text)
	}
}

// placing is a status too short to mention where it stays on the screen.
const placing = "placing the codes"

func (p *trainProgress) step(r fit.Record) {
	if p.first == 0 {
		p.first, p.begun = r.Step, time.Now()
	}
	p.at = r.Step
	if r.Levels != nil {
		p.fields = fmt.Sprintf("  utilization %s  perplexity %s", report.Percent(r.Utilization, 1), report.Number(r.Perplexity, 4))
	}
	fields := "loss " + report.Number(r.Loss, 3) + p.fields
	if r.Phase != "train" {
		fields = r.Phase + "  " + fields
	}
	if r.Event != "" {
		p.event(r.Step, r.Event)
	}
	if p.s.terminal {
		p.line.Update(int64(r.Step), fields)
		return
	}
	if now := time.Now(); now.Sub(p.last) >= logEvery {
		p.last = now
		done := r.Step - p.first
		left := now.Sub(p.begun) / time.Duration(max(1, done)) * time.Duration(p.steps-r.Step)
		p.s.remark("step %d/%d  %s  ETA %s", r.Step, p.steps, fields, report.Duration(left))
	}
}

// event reports a safeguard that acted.
func (p *trainProgress) event(step int, text string) {
	if p.s.terminal {
		p.line.Println(fmt.Sprintf("step %d: %s", step, text))
		return
	}
	p.s.remark("step %d: %s", step, text)
}

func (p *trainProgress) done() { p.line.Done() }
