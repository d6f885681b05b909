package ids

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/catalogue"
)

type showOptions struct {
	dir   string
	codes []string
	item  string
	limit int
	json  bool
}

func newShow(s *cli.Streams) *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:   "show DIR [CODE...]",
		Short: "What codes stand for: the items of an ID or of its beginning",
		Long: `Lists the items whose IDs begin with the given codes, the words that are typical of
them and the codes that come next. With --item, the ID of an item and those that
share most of it.`,
		Example: `  gritvq ids show ids 37
  gritvq ids show ids 37 120
  gritvq ids show ids --item 845`,
		Args: cli.AtLeast("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.dir, o.codes = args[0], args[1:]
			return o.run(cmd.Context(), s)
		},
	}
	cmd.Flags().StringVar(&o.item, "item", "", "look an item up by its name")
	cmd.Flags().IntVarP(&o.limit, "limit", "k", 20, "items to list")
	cli.JSONFlag(cmd, &o.json, "the result as")
	return cmd
}

func (o showOptions) run(ctx context.Context, s *cli.Streams) error {
	if o.limit < 1 {
		return usage.Errorf("-k %d: list at least 1 item", o.limit)
	}
	if o.item != "" && len(o.codes) > 0 {
		return usage.Errorf("give codes or --item, not both")
	}
	c, err := catalogue.Open(ctx, o.dir)
	if err != nil {
		return err
	}
	prefix, err := catalogue.ParseCodes(o.codes...)
	if err != nil {
		return err
	}
	if o.item != "" {
		var known bool
		if prefix, known = c.SharedPrefix(o.item); !known {
			return fmt.Errorf("item %q is not in %s; check its name", o.item, o.dir)
		}
	}
	l, err := c.Show(prefix, o.limit)
	if err != nil {
		return err
	}
	if o.json {
		return s.WriteJSON(l)
	}
	if row, known := c.Row(o.item); known {
		fmt.Fprintf(s.Out, "%s  %s\n\n", catalogue.FormatCodes(c.ID(row)), c.Label(row))
	}
	return printListing(s, l, c.Levels())
}

const shownCodes = 12

func printListing(s *cli.Streams, l *catalogue.Listing, levels int) error {
	below, words := "all IDs", ""
	if len(l.Prefix) > 0 {
		below = "IDs that begin with " + catalogue.FormatCodes(l.Prefix)
	}
	if len(l.Words) > 0 {
		words = "; typical words: " + strings.Join(l.Words, ", ")
	}
	fmt.Fprintf(s.Out, "%s: %s%s\n\n", below, report.Counted(l.Items, "item"), words)
	if len(l.Next) > 1 && len(l.Prefix) < levels {
		next := l.NextTable(shownCodes)
		next.Columns = next.Columns[:3] // titles follow
		for i := range next.Rows {
			next.Rows[i] = next.Rows[i][:3]
		}
		if err := next.Text(s.Out); err != nil {
			return err
		}
		if more := len(l.Next) - shownCodes; more > 0 {
			fmt.Fprintf(s.Out, "and %d more codes\n", more)
		}
		fmt.Fprintln(s.Out)
	}
	return l.ItemTable().Text(s.Out)
}
