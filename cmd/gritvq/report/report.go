// Package report is the command gritvq report.
package report

import (
	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/task/tokenize"
)

// New returns the command.
func New(s *cli.Streams) *cobra.Command {
	var o tokenize.OverlayOptions
	var json bool
	cmd := &cobra.Command{
		Use:   "report RUN RUN... -o PAGE",
		Short: "Draw several training runs on one page",
		Long: `Writes a page that draws the courses of several runs of gritvq train in the same
charts: held-out and training error, codes in use and perplexity, with their scores and
the settings in which they differ. A run is a directory, finished or not, or a log.jsonl.`,
		Example: `  gritvq report tok tok2 -o runs.html
  gritvq report tok*/ -o runs.html`,
		Args: cli.AtLeast("RUN", "RUN"),
		RunE: func(_ *cobra.Command, args []string) error {
			o.Runs = args
			result, err := tokenize.Overlay(o)
			return s.WriteResult(result, err, json)
		},
	}
	cli.OutputFlag(cmd, &o.Output, "page to write (.html)", "runs.html")
	cli.JSONFlag(cmd, &json, "")
	return cmd
}
