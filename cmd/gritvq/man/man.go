// Package man is the command gritvq man.
package man

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/version"
)

// New returns the command, which people who package gritvq need: help does not list it.
func New(s *cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write manual pages",
		Long: `Writes a manual page of every command into a directory, for man:
gritvq.1, gritvq-train.1 and so on.`,
		Example: `  gritvq man man
  man man/gritvq-train.1`,
		Hidden: true,
		Args:   cli.Arguments("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := output.MakeDir(args[0]); err != nil {
				return err
			}
			root, epoch := cmd.Root(), time.Unix(0, 0).UTC() // the same pages at any time
			root.DisableAutoGenTag = true
			header := &doc.GenManHeader{Section: "1", Manual: "gritvq", Source: version.CreatedBy(), Date: &epoch}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("cannot write manual pages: %w", err)
			}
			_, err := fmt.Fprintf(s.Out, "manual pages: %s\n", args[0])
			return err
		},
	}
}
