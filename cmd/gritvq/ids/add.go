package ids

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/catalogue"
)

func newAdd(s *cli.Streams) *cobra.Command {
	var o catalogue.AddOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "add DIR EMBEDDINGS",
		Short: "Give new items IDs, without touching those in use",
		Long: `Encodes new items with the catalogue's tokenizer and adds them to its table, as a new
version. IDs in use stay as they are.`,
		Example: `  gritvq ids add ids new_emb.npy --items new.jsonl`,
		Args:    cli.Arguments("DIR", "EMBEDDINGS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir, o.Source.Input, o.Command = args[0], args[1], s.Command
			summary, err := catalogue.Add(cmd.Context(), o, s)
			if err != nil {
				return err
			}
			return printSummary(s, summary, asJSON)
		},
	}
	cmd.Flags().StringVar(&o.Source.Items, "items", "", "names and titles of the new items, in the order of the rows")
	cli.JSONFlag(cmd, &asJSON, "the result as")
	cli.BackendFlag(cmd, &o.Backend)
	return cmd
}

// crowded is the collision rate above which IDs say little about their items.
const crowded = 0.5

func printSummary(s *cli.Streams, r *catalogue.Summary, asJSON bool) error {
	if asJSON {
		return s.WriteJSON(r)
	}
	if err := r.Table().Text(s.Out); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "\n%s: %s, version %d\n", r.Output, report.Counted(r.Items, "item"), r.Version)
	fmt.Fprintf(s.Out, "collision rate: %s before, %s after; %s of the items share their codes, at most %d the same\nreport: %s\n",
		report.Percent(r.Before, 2), report.Percent(r.After, 2), report.Percent(r.Stats.Before.Sharing, 2), r.Largest, r.Report)
	if r.Before > crowded {
		s.Remark("note: %s of the items share their codes, which say little then; more --codes or --levels tell items apart, "+
			"if their embeddings do", report.Percent(r.Stats.Before.Sharing, 0))
	}
	if r.After > 0 {
		s.Remark("%s of the items share an ID: no last code was free; --resolve token tells them apart, more codes or levels keep them so",
			report.Percent(r.Stats.After.Sharing, 2))
	}
	return nil
}
