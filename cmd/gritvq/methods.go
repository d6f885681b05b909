package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/vq"
)

type methodsOptions struct {
	json bool
}

func newMethodsCommand(s *streams, run func(*streams, methodsOptions) error) *cobra.Command {
	var o methodsOptions
	cmd := &cobra.Command{
		Use:   "methods",
		Short: "List the quantization methods",
		Long: `Lists the values of --method with one line each. Methods that learn a codebook start
from k-means and revive dead codes unless a configuration says otherwise.`,
		Example: `  gritvq methods
  gritvq train vectors.npy -o tok --method ema`,
		Args: arguments(),
		RunE: func(*cobra.Command, []string) error { return run(s, o) },
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runMethods(s *streams, o methodsOptions) error {
	if o.json {
		return s.writeJSON(vq.Methods)
	}
	for _, name := range vq.MethodNames() {
		fmt.Fprintf(s.out, "%-10s %s\n", name, vq.Methods[name])
	}
	return nil
}
