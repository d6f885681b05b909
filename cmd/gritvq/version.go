package main

import (
	"fmt"
	"runtime"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/internal/version"
	"github.com/spf13/cobra"
)

type versionOptions struct {
	json bool
}

func newVersionCommand(s *cli.Streams, run func(*cli.Streams, versionOptions) error) *cobra.Command {
	var o versionOptions
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "Prints the version of gritvq, of the Go that built it, and the platform.",
		Example: `  gritvq version
  gritvq version --json`,
		Args: cli.Arguments(),
		RunE: func(*cobra.Command, []string) error { return run(s, o) },
	}
	cli.JSONFlag(cmd, &o.json, "")
	return cmd
}

func runVersion(s *cli.Streams, o versionOptions) error {
	if o.json {
		return s.WriteJSON(struct {
			Version  string `json:"version"`
			Go       string `json:"go"`
			Platform string `json:"platform"`
		}{version.String(), runtime.Version(), version.Platform})
	}
	fmt.Fprintln(s.Out, version.Line())
	return nil
}
