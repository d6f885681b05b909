// Package eval is the command gritvq eval.
package eval

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/task/tokenize"
)

// New returns the command.
func New(s *cli.Streams) *cobra.Command {
	var o tokenize.EvaluateOptions
	var json bool
	cmd := &cobra.Command{
		Use:   "eval DIR DATA",
		Short: "Score a tokenizer on vectors or pictures",
		Long: `Encodes and decodes every row and reports how close the reconstructions are and how
the codes are used. relative_error is the squared error divided by the spread of
the vectors around their mean: 0 is perfect, predicting the mean gives 1. Rates are
fractions.

Pictures are scored on the centre crop with PSNR, SSIM and, with networks in the
directory of --metrics, LPIPS (lpips*.safetensors) and the Frechet and kernel
distances of features (another .safetensors, or .onnx).`,
		Example: `  gritvq eval tok vectors.npy
  gritvq eval tok vectors.npy --json
  gritvq eval tok vectors.npy --levels 2 --beam 4
  gritvq eval tok vectors.npy --recall 10 # how well codes serve a search
  gritvq eval tok photos.tar --metrics networks/`,
		Args: cli.Arguments("DIR", "DATA"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir, o.Input = args[0], args[1]
			return run(cmd.Context(), s, o, json)
		},
	}
	cli.CodingFlags(cmd, &o.CodingOptions)
	cli.JSONFlag(cmd, &json, "the scores as")
	cmd.Flags().StringVar(&o.Metrics, "metrics", "", "pictures: directory of metric networks (default $GRITVQ_METRICS)")
	cmd.Flags().BoolVar(&o.Curve, "curve", false,
		"sf-diveq: also score the nearest points of the curve through the codes, its published\n"+
			"inference; they take more bits than the codes")
	cmd.Flags().IntVar(&o.Recall, "recall", 0,
		"vectors: share of the true nearest rows, this many, that a search through codes finds")
	return cmd
}

func run(ctx context.Context, s *cli.Streams, o tokenize.EvaluateOptions, json bool) error {
	scores, err := tokenize.Evaluate(ctx, o, s)
	if err != nil {
		return err
	}
	if json {
		return s.WriteJSON(scores)
	}
	if err := s.WriteTables(scores.Tables); err != nil {
		return err
	}
	for _, note := range scores.Notes {
		s.Remark("%s", note)
	}
	return nil
}
