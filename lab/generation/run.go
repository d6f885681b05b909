package generation

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/lab/jobs"
	"github.com/gritvq/gritvq/task"
)

// Run runs jobs in their order, each by measure, and keeps their records in a file.
func Run(ctx context.Context, list []Job, records string, o jobs.Options,
	measure func(context.Context, Job) (Record, error), watch task.Watcher) error {
	return jobs.List[Job, Record]{
		Options: o, Jobs: list, Records: records, Measure: measure,
		Complete: func(r Record, j Job, failed string, seconds float64) Record {
			if failed != "" {
				r = Record{Failed: failed, Seconds: map[string]float64{"all": seconds}}
			}
			r.Job, r.Origin = j, o.Origin.Today()
			return r
		},
		Outcome: func(r Record) string {
			return fmt.Sprintf("PSNR %.2f dB, %.0f bits a picture", r.Reconstructed.PSNR, r.Likelihood.BitsPerImage)
		},
	}.Run(ctx, watch)
}
