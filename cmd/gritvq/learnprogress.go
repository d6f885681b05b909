package main

import (
	"fmt"
	"time"

	"github.com/gritvq/gritvq/internal/progress"
	"github.com/gritvq/gritvq/learn"
	"github.com/gritvq/gritvq/report"
)

// learnProgress shows how far the training of a recommender is.
type learnProgress struct {
	s           *streams
	line        *progress.Line
	steps       int
	first, at   int
	begun, last time.Time
	scores      string
}

func newLearnProgress(s *streams, steps int) *learnProgress {
	now := time.Now()
	return &learnProgress{s: s, line: s.line(steps), steps: steps, begun: now, last: now}
}

func (p *learnProgress) observer() learn.Observer {
	return learn.Observer{Step: p.step, Status: func(text string) {
		if p.s.terminal {
			p.line.Update(int64(p.at), text+" …")
		}
	}}
}

func (p *learnProgress) step(r learn.Record) {
	p.at = r.Step
	if p.first == 0 {
		p.first, p.begun = r.Step, time.Now()
	}
	if r.Scores != nil {
		p.scores = fmt.Sprintf("  validation recall@10 %s NDCG@10 %s", report.Number(r.Scores["recall@10"], 4), report.Number(r.Scores["ndcg@10"], 4))
		if !p.s.terminal {
			p.s.remark("step %d%s", r.Step, p.scores)
		}
	}
	if r.Event != "" {
		if p.s.terminal {
			p.line.Println(fmt.Sprintf("step %d: %s", r.Step, r.Event))
		} else {
			p.s.remark("step %d: %s", r.Step, r.Event)
		}
	}
	fields := "loss " + report.Number(r.Loss, 4) + p.scores
	if p.s.terminal {
		p.line.Update(int64(r.Step), fields)
		return
	}
	if now := time.Now(); now.Sub(p.last) >= logEvery {
		p.last = now
		left := now.Sub(p.begun) / time.Duration(max(1, r.Step-p.first)) * time.Duration(p.steps-r.Step)
		p.s.remark("step %d/%d  %s  ETA %s", r.Step, p.steps, fields, report.Duration(left))
	}
}

func (p *learnProgress) done() { p.line.Done() }
