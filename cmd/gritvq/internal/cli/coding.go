package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/task/tokenize"
)

// CodingFlags adds the flags of commands that encode with a tokenizer.
func CodingFlags(cmd *cobra.Command, o *tokenize.CodingOptions) {
	LevelsFlag(cmd, o)
	f := cmd.Flags()
	f.IntVar(&o.Beam, "beam", 0,
		"encodings kept from level to level; more are slower and closer\n(default the method's own: 5 for rq, else 1)")
	f.BoolVar(&o.Drop, "drop-nonfinite", false, "leave out rows with NaN or Inf; later rows move up")
}

// LevelsFlag adds the flags of commands that read with a tokenizer.
func LevelsFlag(cmd *cobra.Command, o *tokenize.CodingOptions) {
	cmd.Flags().IntVar(&o.Levels, "levels", 0, "use only the first levels (default all)")
	WorkersFlag(cmd, &o.Workers)
	BackendFlag(cmd, &o.Backend)
}

// WriteResult prints a result as text or JSON.
func (s *Streams) WriteResult(r tokenize.Result, asJSON bool) error {
	if asJSON {
		return s.WriteJSON(r)
	}
	_, err := fmt.Fprintln(s.Out, r)
	return err
}
