package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/gritvq/gritvq/internal/progress"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// learnProgress shows how far the training of a recommender is.
type learnProgress struct {
	s      *streams
	line   *progress.Line
	steps  int
	at     int       // last step seen
	last   time.Time // of the last line of a log
	scores string
}

func newLearnProgress(s *streams, steps int) *learnProgress {
	return &learnProgress{s: s, line: s.line(steps), steps: steps, last: time.Now()}
}

func (p *learnProgress) observer() train.Observer {
	return train.Observer{Step: p.step, Status: func(text string) { showStatus(p.s, p.line, p.at, text) }}
}

func (p *learnProgress) step(r train.Record) {
	if p.at == 0 && r.Step > 1 {
		notice(p.s, p.line, fmt.Sprintf("continuing after step %d of %d", r.Step-1, p.steps))
	}
	p.at = r.Step
	if r.Scores != nil {
		p.scores = fmt.Sprintf("  validation recall@10 %s NDCG@10 %s", report.Number(r.Scores["recall@10"], 4), report.Number(r.Scores["ndcg@10"], 4))
		if !p.s.terminal {
			p.s.Remark("step %d%s", r.Step, p.scores)
		}
	}
	if r.Event != "" {
		notice(p.s, p.line, fmt.Sprintf("step %d: %s", r.Step, r.Event))
	}
	fields := "loss " + report.Number(r.Loss, 4) + p.scores
	p.line.Update(int64(r.Step), fields)
	logStep(p.s, p.line, &p.last, r.Step, p.steps, fields)
}

// stopped explains the error of a run that was interrupted.
func (p *learnProgress) stopped(err error) error {
	if !errors.Is(err, train.ErrInterrupted) {
		return err
	}
	at := ""
	if p.at > 0 {
		at = fmt.Sprintf(" at step %d of %d", p.at, p.steps)
	}
	return fmt.Errorf("%w%s; repeat the command with --resume to continue", vqtrain.ErrInterrupted, at)
}

func (p *learnProgress) done() { p.line.Done() }
