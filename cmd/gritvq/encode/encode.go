// Package encode is the command gritvq encode.
package encode

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/task/prior"
	"github.com/gritvq/gritvq/task/tokenize"
)

type options struct {
	tokenize.EncodeOptions
	prior string
	json  bool
}

// New returns the command.
func New(s *cli.Streams) *cobra.Command { return newCommand(s, run) }

func newCommand(s *cli.Streams, run func(context.Context, *cli.Streams, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "encode DIR DATA -o CODES",
		Short: "Turn vectors or pictures into codes",
		Long: `Encodes every row of a file of vectors with a trained tokenizer. The extension of
the output decides its format: .npy (rows x levels), .parquet, .jsonl, or .gvq,
which packs the bits, detects damage and records the tokenizer. Files of any
size are streamed. A row's codes depend on that row only.

Every picture becomes a row with the codes of its centre crop; a .keys file beside
the codes lists the names. Repeat the command to resume a killed run. One picture of
any size and an output .gvq give a compact file that decode restores. --prior makes it
smaller with the probabilities of a trained prior; decode then needs the prior, and a
processor with the same vector instructions.`,
		Example: `  gritvq encode tok vectors.npy -o codes.npy
  gritvq encode tok vectors.npy -o codes.gvq --beam 8
  gritvq encode tok more.parquet -o codes.jsonl --levels 2
  gritvq encode tok photos.tar -o codes.npy
  gritvq encode tok photo.jpg -o photo.gvq
  gritvq encode tok photo.jpg -o photo.gvq --prior prior`,
		Args: cli.Arguments("DIR", "DATA"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir, o.Input = args[0], args[1]
			return run(cmd.Context(), s, o)
		},
	}
	cli.OutputFlag(cmd, &o.Output, "file of codes: .npy, .parquet, .jsonl or .gvq", "codes.npy")
	cli.CodingFlags(cmd, &o.CodingOptions)
	cmd.Flags().StringVar(&o.prior, "prior", "", "prior whose probabilities the codes of one picture are written with")
	cli.JSONFlag(cmd, &o.json, "the result as")
	return cmd
}

func run(ctx context.Context, s *cli.Streams, o options) error {
	o.Predictor = prior.Predictor(o.prior, s)
	result, err := tokenize.Encode(ctx, o.EncodeOptions, s)
	return s.WriteResult(result, err, o.json)
}
