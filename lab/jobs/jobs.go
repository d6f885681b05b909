// Package jobs runs lists of experiments, several at a time, and keeps a record of each: a list that was interrupted, or
// whose time was over, goes on where it ended.
package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/task"
)

// Job is an experiment.
type Job interface {
	Name() string // identifier, also of its record
	Check() error // reports a job that cannot work
}

// Record is a finished job, or one that failed.
type Record[J Job] interface {
	table.Run
	Of(j J) bool // whether it is of this job, with the same settings
}

// Options say how a list is run.
type Options struct {
	Parallel int           // jobs at a time; 0 is 1
	Limit    time.Duration // of a job; 0 is none
	Within   time.Duration // of the call; 0 is none
	Origin   Origin        // of the records
}

// List is a list of jobs.
type List[J Job, R Record[J]] struct {
	Options
	Jobs    []J
	Records string // file that gets a line for every finished job; its jobs are not run again
	// Measure runs a job. Those that end with an error are recorded as failed, and run again by the next call.
	Measure func(ctx context.Context, j J) (R, error)
	// Complete makes the record that is kept of what was measured, or of a failure for a reason after some seconds.
	Complete func(r R, j J, failed string, seconds float64) R
	Outcome  func(r R) string // for people, of a job that succeeded
}

// Run runs the jobs in their order. It stops when ctx ends, and without an error at the end of the time of the call; jobs
// under way continue in the next one. One process writes the directory of the records at a time.
func (l List[J, R]) Run(ctx context.Context, watch task.Watcher) error {
	claim, err := output.Lock(filepath.Dir(l.Records))
	if err != nil {
		return err
	}
	defer claim.Release()
	r := &runner[J, R]{List: l, watch: watch}
	if r.records, err = table.ReadLines[R](l.Records); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	call, cancel := l.call(ctx)
	defer cancel()
	queue := make(chan J)
	var workers sync.WaitGroup
	for range max(1, l.Parallel) {
		workers.Go(func() {
			for j := range queue {
				r.do(call, j)
			}
		})
	}
	waiting := r.left()
	watch.Remark("%d of %d jobs are to be run", len(waiting), len(l.Jobs))
	for _, j := range waiting {
		select {
		case queue <- j:
		case <-call.Done():
		}
	}
	close(queue)
	workers.Wait()
	if left := r.left(); len(left) > 0 && ctx.Err() == nil {
		watch.Remark("%d of %d jobs are left; the same command continues them", len(left), len(l.Jobs))
	}
	return errors.Join(ctx.Err(), r.err)
}

// call is the context of all jobs.
func (l List[J, R]) call(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.Within > 0 {
		return context.WithTimeout(ctx, l.Within)
	}
	return context.WithCancel(ctx)
}

type runner[J Job, R Record[J]] struct {
	List[J, R]
	watch   task.Watcher
	lock    sync.Mutex
	records []R
	err     error // of the file of records
}

// check refuses jobs that cannot work, and those whose record is of other settings.
func (r *runner[J, R]) check() error {
	names := map[string]bool{}
	for _, j := range r.Jobs {
		if err := j.Check(); err != nil {
			return err
		}
		if names[j.Name()] {
			return fmt.Errorf("two jobs are called %s", j.Name())
		}
		names[j.Name()] = true
		for _, known := range r.records {
			if a := known.About(); a.ID == j.Name() && a.Failed == "" && !known.Of(j) {
				return fmt.Errorf("%s has a job %s of other settings; rename the job, or remove its record and directory", r.Records, j.Name())
			}
		}
	}
	return nil
}

// left lists the jobs without a record of success.
func (r *runner[J, R]) left() []J {
	return slices.DeleteFunc(slices.Clone(r.Jobs), func(j J) bool {
		return slices.ContainsFunc(r.records, func(known R) bool {
			a := known.About()
			return a.ID == j.Name() && a.Failed == ""
		})
	})
}

func (r *runner[J, R]) do(ctx context.Context, j J) {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if r.Limit > 0 {
		limited, cancel = context.WithTimeout(ctx, r.Limit)
	}
	defer cancel()
	if ctx.Err() != nil {
		return
	}
	begun, failed := time.Now(), ""
	record, err := r.Measure(limited, j)
	switch {
	case err != nil && ctx.Err() != nil:
		return // the next call continues
	case err != nil && limited.Err() != nil:
		failed = fmt.Sprintf("not done after %s; running the list again continues it", r.Limit)
	case err != nil:
		failed, _, _ = strings.Cut(err.Error(), "\n")
	}
	seconds := time.Since(begun).Seconds()
	record = r.Complete(record, j, failed, seconds)
	outcome := "failed: " + failed
	if failed == "" {
		outcome = r.Outcome(record)
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	r.watch.Remark("%s: %s in %s", j.Name(), outcome, table.Seconds(seconds))
	r.records = append(slices.DeleteFunc(r.records, func(other R) bool { return other.About().ID == j.Name() }), record)
	r.err = errors.Join(r.err, atomicfile.WriteJSON(r.Records, "", r.records...))
}
