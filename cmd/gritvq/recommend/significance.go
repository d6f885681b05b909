package recommend

import (
	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/task/recommend"
)

func newSignificance(s *cli.Streams) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "significance A B",
		Short: "Test whether two recommenders differ",
		Long: `Compares two evaluations user by user, or search by search, from the files that
eval --per-user or --per-query wrote: paired t test, Wilcoxon's signed-rank test and
bootstrap interval of the difference.`,
		Example: `  gritvq recommend significance a/users.parquet b/users.parquet`,
		Args:    cli.Arguments("A", "B"),
		RunE: func(_ *cobra.Command, args []string) error {
			compared, err := recommend.Compare(args[0], args[1])
			switch {
			case err != nil:
				return err
			case json:
				return s.WriteJSON(compared)
			}
			return compared.Table().Text(s.Out)
		},
	}
	cli.JSONFlag(cmd, &json, "")
	return cmd
}
