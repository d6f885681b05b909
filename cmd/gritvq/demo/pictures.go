package demo

import (
	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/lab/generation"
)

func newPictures(s *cli.Streams) *cobra.Command {
	o, asJSON := generation.DefaultDemo(), false
	cmd := &cobra.Command{Use: "pictures", Args: cli.Arguments(), Example: "  gritvq demo pictures -o demo-images",
		Short: "Train a tokenizer and a prior of built-in pictures and draw new ones",
		Long: `Trains a tokenizer of built-in scenes and a prior of its codes, draws new pictures, and
writes a page about them. An interrupted run continues when it is repeated.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Command = s.Command
			made, err := generation.Demo(cmd.Context(), o, s)
			return s.WriteResult(made, err, asJSON)
		}}
	cmd.Flags().StringVarP(&o.Output, "output", "o", o.Output, "directory of models, pictures and the page")
	cli.JSONFlag(cmd, &asJSON, "the scores as")
	return cmd
}
