package models

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/recommend"
)

// SearchFlags adds the flags that say among which items answers are found, and
// how.
func SearchFlags(cmd *cobra.Command, o *recommend.SearchOptions) {
	f := cmd.Flags()
	f.StringVar(&o.IDs, "ids", "", "directory of IDs to which gritvq ids add gave items since training, to find these too")
	f.StringVar(&o.Search, "search", "", "how a dual encoder finds items: exact, ivf or hnsw (default exact)")
	f.IntVar(&o.Effort, "effort", 0, "lists that ivf looks into, or length of the list that hnsw keeps (default: its own)")
}

// EvalFlags are the flags of a command that scores a model.
type EvalFlags struct {
	recommend.EvalOptions
	JSON    bool
	workers int
}

// Add adds the flags that such commands share, after their own.
func (o *EvalFlags) Add(cmd *cobra.Command) {
	SearchFlags(cmd, &o.SearchOptions)
	cli.WorkersFlag(cmd, &o.workers)
	cli.JSONFlag(cmd, &o.JSON, "the scores as")
	cli.BackendFlag(cmd, &o.Backend)
}

// Run scores the model.
func (o *EvalFlags) Run(ctx context.Context, s *cli.Streams) (*recommend.Evaluation, error) {
	if err := engine.UseWorkers(o.workers); err != nil {
		return nil, err
	}
	return recommend.Evaluate(ctx, o.EvalOptions, s)
}

// ShowEvaluation prints scores and times.
func ShowEvaluation(s *cli.Streams, e *recommend.Evaluation, coldTitle string) error {
	if err := rankingTable("test", e.Scores).Text(s.Out); err != nil {
		return err
	}
	if e.Cold != nil {
		fmt.Fprintf(s.Out, "\n%s\n", coldTitle)
		if err := rankingTable("cold", e.Cold).Text(s.Out); err != nil {
			return err
		}
	}
	inIndex := ""
	if e.Lookup > 0 {
		inIndex = fmt.Sprintf(", %s of them in the index", report.Number(e.Lookup, 3))
	}
	_, err := fmt.Fprintf(s.Out, "\n%s answers a second together, %s ms for one alone%s\n",
		report.Number(e.Together, 3), report.Number(e.Alone, 3), inIndex)
	return err
}
