// Package methods is the command gritvq methods.
package methods

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/vq"
)

// New returns the command.
func New(s *cli.Streams) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "methods",
		Short: "List the quantization methods",
		Long: `Lists the values of --method with one line each. Methods that learn a codebook start
from k-means and revive dead codes unless a configuration says otherwise.`,
		Example: `  gritvq methods
  gritvq train vectors.npy -o tok --method ema`,
		Args: cli.Arguments(),
		RunE: func(*cobra.Command, []string) error { return run(s, json) },
	}
	cli.JSONFlag(cmd, &json, "")
	return cmd
}

func run(s *cli.Streams, json bool) error {
	if json {
		return s.WriteJSON(vq.Summaries())
	}
	for _, name := range vq.MethodNames() {
		fmt.Fprintf(s.Out, "%-10s %s\n", name, vq.Summaries()[name])
	}
	return nil
}
