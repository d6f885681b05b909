package recommenders

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gritvq/gritvq/lab/jobs"
	"github.com/gritvq/gritvq/lab/table/recommendation"
	"github.com/gritvq/gritvq/task"
)

// Records is the file of the records in a directory of work, and ranks of their users are below it.
func Records(work string) (file, ranks string) {
	return filepath.Join(work, "records.jsonl"), filepath.Join(work, "ranks")
}

// Run runs jobs in their order.
func Run(ctx context.Context, list []Job, p *Place, o jobs.Options, watch task.Watcher) error {
	file, _ := Records(p.Work)
	return jobs.List[Job, record]{
		Options: o, Jobs: list, Records: file,
		Measure: func(ctx context.Context, j Job) (record, error) {
			r, err := p.Measure(ctx, j)
			return record{r}, err
		},
		Complete: func(r record, j Job, failed string, seconds float64) record {
			if failed != "" {
				r = record{recommendation.Run{Failed: failed, Seconds: seconds}}
			}
			j.describe(&r.Run)
			origin := o.Origin.Today()
			r.Commit, r.Hardware, r.Date = origin.Commit, origin.Hardware, origin.Date
			return r
		},
		Outcome: func(r record) string {
			for _, s := range r.Scores.Scores {
				if s.K == 10 {
					return fmt.Sprintf("recall@10 %.4f", s.Recall)
				}
			}
			return "scored"
		},
	}.Run(ctx, watch)
}

// record is a line of the page's file.
type record struct{ recommendation.Run }

// Of implements jobs.Record.
func (r record) Of(j Job) bool {
	var described recommendation.Run
	j.describe(&described)
	return r.Data == described.Data && r.IDs == described.IDs && r.Kind == described.Kind && r.Seed == described.Seed &&
		r.Prior == described.Prior && r.Flags == described.Flags && r.IDsFlags == described.IDsFlags
}

// describe fills what a record says of its job.
func (j Job) describe(r *recommendation.Run) {
	r.ID, r.Data, r.IDs, r.Kind, r.Seed, r.Prior = j.ID, j.Data, j.Method, j.Kind, j.Seed, j.Prior
	r.Flags, r.IDsFlags = strings.Join(j.modelFlags(), " "), strings.Join(j.idsFlags(), " ")
	r.Vectors = filepath.Base(j.Embeddings)
}
