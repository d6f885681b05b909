package generation

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

// Options say how a list of jobs is run.
type Options struct {
	Records  string        // file that gets a line for every finished job; its jobs are not run again
	Parallel int           // jobs at a time; 0 is 1
	Limit    time.Duration // of a job; 0 is none
	Within   time.Duration // of the call; 0 is none
	Commit   string
	Hardware string
	Backend  string
	Command  string
	// Measure runs a job. Those that end with an error are recorded as failed, and run again by the next call.
	Measure func(ctx context.Context, j Job) (Record, error)
}

// Run runs jobs in their order. It stops when ctx ends, and without an error at the end of the time of the call; jobs under
// way continue in the next one. One process writes the directory of the records at a time.
func Run(ctx context.Context, jobs []Job, o Options, watch task.Watcher) error {
	claim, err := output.Lock(filepath.Dir(o.Records))
	if err != nil {
		return err
	}
	defer claim.Release()
	records, err := table.ReadLines[Record](o.Records)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := check(jobs, records, o.Records); err != nil {
		return err
	}
	done := func(j Job) bool {
		return slices.ContainsFunc(records, func(r Record) bool { return r.ID == j.ID && r.Failed == "" })
	}
	call, cancel := o.call(ctx)
	defer cancel()
	r := &runner{Options: o, records: records, watch: watch}
	queue := make(chan Job)
	var workers sync.WaitGroup
	for range max(1, o.Parallel) {
		workers.Go(func() {
			for j := range queue {
				r.do(call, j)
			}
		})
	}
	todo := slices.DeleteFunc(slices.Clone(jobs), done)
	watch.Remark("%d of %d jobs are to be run", len(todo), len(jobs))
	for _, j := range todo {
		select {
		case queue <- j:
		case <-call.Done():
		}
	}
	close(queue)
	workers.Wait()
	records = r.records
	if left := slices.DeleteFunc(slices.Clone(jobs), done); len(left) > 0 && ctx.Err() == nil {
		watch.Remark("%d of %d jobs are left; the same command continues them", len(left), len(jobs))
	}
	return errors.Join(ctx.Err(), r.err)
}

// check refuses jobs that cannot work, and those whose record in a file is of other settings.
func check(jobs []Job, records []Record, path string) error {
	names := map[string]bool{}
	for _, j := range jobs {
		if err := j.Check(); err != nil {
			return err
		}
		if names[j.ID] {
			return fmt.Errorf("two jobs are called %s", j.ID)
		}
		names[j.ID] = true
		for _, r := range records {
			if r.ID == j.ID && r.Failed == "" && !r.Job.same(j) {
				return fmt.Errorf("%s has a job %s of other settings; rename the job, or remove its record and directory", path, j.ID)
			}
		}
	}
	return nil
}

// call is the context of all jobs.
func (o Options) call(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.Within > 0 {
		return context.WithTimeout(ctx, o.Within)
	}
	return context.WithCancel(ctx)
}

type runner struct {
	Options
	watch   task.Watcher
	lock    sync.Mutex
	records []Record
	err     error // of the file of records
}

func (r *runner) do(ctx context.Context, j Job) {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if r.Limit > 0 {
		limited, cancel = context.WithTimeout(ctx, r.Limit)
	}
	defer cancel()
	if ctx.Err() != nil {
		return
	}
	begun := time.Now()
	record, err := r.Measure(limited, j)
	switch {
	case err != nil && ctx.Err() != nil:
		return // the next call continues
	case err != nil && limited.Err() != nil:
		record = Record{Failed: fmt.Sprintf("not done after %s; running the list again continues it", r.Limit)}
	case err != nil:
		first, _, _ := strings.Cut(err.Error(), "\n")
		record = Record{Failed: first}
	}
	if record.Job = j; record.Failed != "" {
		record.Seconds = map[string]float64{"all": time.Since(begun).Seconds()}
	}
	record.Commit, record.Hardware, record.Backend, record.Command = r.Commit, r.Hardware, r.Backend, r.Command
	record.Date = time.Now().UTC().Format(time.DateOnly)
	r.lock.Lock()
	defer r.lock.Unlock()
	r.watch.Remark("%s: %s in %s", j.ID, outcome(record), table.Seconds(time.Since(begun).Seconds()))
	r.records = append(slices.DeleteFunc(r.records, func(other Record) bool { return other.ID == j.ID }), record)
	r.err = errors.Join(r.err, atomicfile.WriteJSON(r.Records, "", r.records...))
}

func outcome(r Record) string {
	if r.Failed != "" {
		return "failed: " + r.Failed
	}
	return fmt.Sprintf("PSNR %.2f dB, %.0f bits a picture", r.Reconstructed.PSNR, r.Likelihood.BitsPerImage)
}
