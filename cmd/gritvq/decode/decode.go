// Package decode is the command gritvq decode.
package decode

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/task/prior"
	"github.com/gritvq/gritvq/task/tokenize"
)

type options struct {
	tokenize.DecodeOptions
	prior string
	json  bool
}

// New returns the command.
func New(s *cli.Streams) *cobra.Command { return newCommand(s, run) }

func newCommand(s *cli.Streams, run func(context.Context, *cli.Streams, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "decode DIR CODES -o OUTPUT",
		Short: "Turn codes back into vectors or pictures",
		Long: `Reconstructs vectors from a file of codes (.npy, .parquet, .jsonl or .gvq) with the
tokenizer that made them. Codes of fewer levels than the tokenizer has give a
coarser reconstruction. Files of any size are streamed. Pictures are written as
PNG, into a folder, a .tar, or one .png. The file of a picture that was encoded with
--prior needs the same prior again.`,
		Example: `  gritvq decode tok codes.npy -o recon.npy
  gritvq decode tok codes.gvq -o recon.fvecs
  gritvq decode tok codes.npy -o recon/ # pictures
  gritvq decode tok photo.gvq -o photo.png
  gritvq decode tok photo.gvq -o photo.png --prior prior`,
		Args: cli.Arguments("DIR", "CODES"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir, o.Input = args[0], args[1]
			return run(cmd.Context(), s, o)
		},
	}
	cli.OutputFlag(cmd, &o.Output, "file of vectors (.npy, .fvecs, .parquet), or pictures (a folder, .tar, .png)", "recon.npy")
	cmd.Flags().StringVar(&o.prior, "prior", "", "prior that the picture was encoded with")
	cmd.Flags().BoolVar(&o.Force, "force", false, "decode a .gvq file of another tokenizer")
	cli.WorkersFlag(cmd, new(int))
	cli.JSONFlag(cmd, &o.json, "the result as")
	cli.BackendFlag(cmd, &o.Backend)
	return cmd
}

func run(ctx context.Context, s *cli.Streams, o options) error {
	o.Predictor = prior.Predictor(o.prior, s)
	result, err := tokenize.Decode(ctx, o.DecodeOptions, s)
	return s.WriteResult(result, err, o.json)
}
