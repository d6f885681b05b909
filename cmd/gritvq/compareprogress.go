package main

import (
	"fmt"
	"time"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/internal/progress"
	"github.com/gritvq/gritvq/lab/compare"
	"github.com/gritvq/gritvq/report"
)

// compareProgress shows one line over all runs on a terminal, and a line for
// every finished run elsewhere.
type compareProgress struct {
	s        *cli.Streams
	kind     *compare.Kind
	line     *progress.Line
	runs     int
	finished int // runs
	begun    time.Time
	known    int // work of earlier sessions
	behind   int // work done
	total    int
}

func newCompareProgress(s *cli.Streams, kind *compare.Kind, runs int) *compareProgress {
	return &compareProgress{s: s, kind: kind, runs: runs, begun: time.Now()}
}

// step is told of the work of all runs, in training steps.
func (p *compareProgress) step(cell compare.Cell, done, total int) {
	p.behind, p.total = done, total
	if p.line == nil {
		p.line = progress.New(p.s.Err, int64(total), p.s.Terminal)
	}
	p.line.Update(int64(done), fmt.Sprintf("run %d of %d: %s", min(p.finished+1, p.runs), p.runs, cell))
}

// cell is told of every finished run.
func (p *compareProgress) cell(cell compare.Cell, r compare.Record, known bool) {
	p.finished++
	if known {
		p.known = p.behind // what comes after is this session's speed
		return
	}
	text := "failed: " + r.Error
	if r.Error == "" {
		text = fmt.Sprintf("%s, trained in %s", p.kind.Brief(r), report.Duration(time.Duration(r.Scores["train_seconds"]*float64(time.Second))))
	}
	text = fmt.Sprintf("%d/%d  %s: %s", p.finished, p.runs, cell, text)
	if p.s.Terminal && p.line != nil {
		p.line.Println(text)
		return
	}
	if left := p.left(); left > 0 {
		text += ", ETA " + report.Duration(left)
	}
	p.s.Remark("%s", text)
}

// left estimates the time that the rest takes.
func (p *compareProgress) left() time.Duration {
	worked := p.behind - p.known
	if worked <= 0 || p.total <= p.behind {
		return 0
	}
	return (time.Since(p.begun) * time.Duration(p.total-p.behind) / time.Duration(worked)).Round(time.Second)
}

func (p *compareProgress) done() {
	if p.line != nil {
		p.line.Done()
	}
}
