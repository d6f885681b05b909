// Package config is the command gritvq config.
package config

import (
	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/task/tokenize"
)

// New returns the command.
func New(s *cli.Streams) *cobra.Command {
	var settings cli.Settings
	var pictures bool
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
		RunE: func(*cobra.Command, []string) error { return run(s, settings.Layers(pictures)) },
	}
	settings.AddFlags(cmd, true)
	cmd.Flags().BoolVar(&pictures, "pictures", false, "settings for pictures (any of their flags asks for them too)")
	return cmd
}

func run(s *cli.Streams, settings tokenize.Settings) error {
	c, err := settings.Config()
	if err != nil {
		return err
	}
	rendered, err := config.Render(c)
	if err != nil {
		return err
	}
	_, err = s.Out.Write(rendered)
	return err
}
