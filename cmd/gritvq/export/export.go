// Package export is the command gritvq export.
package export

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/task/export"
)

// New returns the command.
func New(s *cli.Streams) *cobra.Command {
	var o export.Options
	var json bool
	cmd := &cobra.Command{
		Use:   "export SOURCE --to FORMAT -o OUTPUT",
		Short: "Write a tokenizer or model for FAISS and other programs",
		Long: `Writes a trained tokenizer, prior or recommender in the format of another
program.

faiss: an index that faiss.read_index opens. Residual codes become an
IndexResidualQuantizer, product codes an IndexPQ, linear encoders and
standardisation an IndexPreTransform. --data encodes vectors into it, --codes
stores codes that gritvq encode wrote, --ids gives them IDs (IndexIDMap).

onnx: a directory with encoder.onnx, decoder.onnx and tokenizer.onnx for ONNX
Runtime, also in browsers. Batch, height and width are free; weights are inside.
A prior becomes step.onnx; a dual encoder or a search engine query.onnx and
items.onnx. README.md in the directory describes inputs and outputs.

tensorboard: events of a tokenizer's training, or of the log.jsonl of any run, in a
directory for tensorboard --logdir. train --tensorboard writes them during training.`,
		Example: `  gritvq export tok --to faiss -o index.faiss
  gritvq export tok --to faiss -o index.faiss --data vectors.npy
  gritvq export tok --to faiss -o index.faiss --codes codes.npy --ids ids.npy
  gritvq export tok --to onnx -o networks
  gritvq export prior --to onnx -o networks
  gritvq export tok/log.jsonl --to tensorboard -o runs/tok`,
		Args: cli.Arguments("SOURCE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir = args[0]
			result, err := export.Run(cmd.Context(), o, s)
			switch {
			case err != nil:
				return err
			case json:
				return s.WriteJSON(result)
			}
			_, err = fmt.Fprintln(s.Out, result)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.To, "to", "", "format: "+strings.Join(export.Formats(), ", "))
	cli.OutputFlag(cmd, &o.Output, "file or directory to write", "index.faiss")
	f.StringVar(&o.Input, "data", "", "faiss: vectors to encode and store")
	f.StringVar(&o.Codes, "codes", "", "faiss: codes to store, instead of --data")
	f.StringVar(&o.IDs, "ids", "", "faiss: IDs of the stored vectors: an .npy array of int64, or a number a line")
	cli.CodingFlags(cmd, &o.CodingOptions)
	cli.JSONFlag(cmd, &json, "the result as")
	return cmd
}
