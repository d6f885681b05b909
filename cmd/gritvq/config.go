package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/config"
)

func newConfigCommand(s *cli.Streams, run func(*cli.Streams, *settings) error) *cobra.Command {
	var o settings
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the full configuration as commented YAML",
		Long: `Prints every setting with its value and meaning as YAML, ready to be edited and
passed to train --config. The flags of train change the values shown.`,
		Example: `  gritvq config > my.yaml
  gritvq config --preset paper
  gritvq config --method ste --codes 1024
  gritvq config --pictures --size 128`,
		Args: cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(s, &o)
		},
	}
	o.flags = cmd.Flags()
	o.addFlags(cmd.Flags())
	o.addPictureFlags()
	cmd.Flags().BoolVar(&o.pictures, "pictures", false, "settings for pictures (any of their flags asks for them too)")
	return cmd
}

func runConfig(s *cli.Streams, o *settings) error {
	c, err := o.config()
	if err != nil {
		return err
	}
	rendered, err := config.Render(c)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%s", rendered)
	return err
}
