package main

import (
	"errors"
	"fmt"

	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// learnProgress shows how far the training of a recommender is.
type learnProgress struct {
	*task.Training
	watch  task.Watcher
	steps  int
	begun  bool
	scores string
}

func newLearnProgress(watch task.Watcher, steps int) *learnProgress {
	return &learnProgress{Training: task.WatchTraining(watch, steps), watch: watch, steps: steps}
}

func (p *learnProgress) observer() train.Observer {
	return train.Observer{Step: p.step, Status: p.Status}
}

func (p *learnProgress) step(r train.Record) {
	if !p.begun && r.Step > 1 {
		p.watch.Remark("continuing after step %d of %d", r.Step-1, p.steps)
	}
	p.begun = true
	if r.Scores != nil {
		p.scores = fmt.Sprintf("  validation recall@10 %s NDCG@10 %s", report.Number(r.Scores["recall@10"], 4), report.Number(r.Scores["ndcg@10"], 4))
	}
	p.Step(r.Step, "loss "+report.Number(r.Loss, 4)+p.scores, r.Event)
	if r.Scores != nil {
		p.Log(p.scores)
	}
}

// stopped explains the error of a run that was interrupted.
func (p *learnProgress) stopped(err error) error {
	if !errors.Is(err, train.ErrInterrupted) {
		return err
	}
	return p.Stopped(vqtrain.ErrInterrupted)
}

func (p *learnProgress) done() { p.Done() }
