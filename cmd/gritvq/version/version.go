// Package version is the command gritvq version.
package version

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/internal/version"
)

// New returns the command.
func New(s *cli.Streams) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "Prints the version of gritvq, of the Go that built it, and the platform.",
		Example: `  gritvq version
  gritvq version --json`,
		Args: cli.Arguments(),
		RunE: func(*cobra.Command, []string) error { return run(s, json) },
	}
	cli.JSONFlag(cmd, &json, "")
	return cmd
}

func run(s *cli.Streams, json bool) error {
	if json {
		return s.WriteJSON(struct {
			Version  string `json:"version"`
			Go       string `json:"go"`
			Platform string `json:"platform"`
		}{version.String(), runtime.Version(), version.Platform})
	}
	fmt.Fprintln(s.Out, version.Line())
	return nil
}
