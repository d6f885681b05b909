package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/dataset"
)

// evalOptions is the command line of eval.
type evalOptions struct {
	codingOptions
	json    bool
	metrics string // directory of metric networks
}

func newEvalCommand(s *cli.Streams, run func(context.Context, *cli.Streams, evalOptions) error) *cobra.Command {
	var o evalOptions
	cmd := &cobra.Command{
		Use:   "eval DIR DATA",
		Short: "Score a tokenizer on vectors or pictures",
		Long: `Encodes and decodes every row and reports how close the reconstructions are and how
the codes are used. relative_error is the squared error divided by the spread of
the vectors around their mean: 0 is perfect, 1 is answering with the mean. Rates
are fractions.

Of pictures it takes the middle and reports PSNR, SSIM and, where --metrics names a
directory with the networks, LPIPS (lpips*.safetensors) and the Frechet and kernel
distances of features (another .safetensors, or .onnx).`,
		Example: `  gritvq eval tok vectors.npy
  gritvq eval tok vectors.npy --json
  gritvq eval tok vectors.npy --levels 2 --beam 4
  gritvq eval tok photos.tar --metrics networks/`,
		Args: cli.Arguments("DIR", "DATA"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.bundle, o.input = args[0], args[1]
			return run(cmd.Context(), s, o)
		},
	}
	o.addFlags(cmd)
	cli.JSONFlag(cmd, &o.json, "the scores as")
	cmd.Flags().StringVar(&o.metrics, "metrics", "", "pictures: directory of metric networks (default $GRITVQ_METRICS)")
	return cmd
}

func runEval(ctx context.Context, s *cli.Streams, o evalOptions) error {
	b, r, err := o.load()
	if err != nil {
		return err
	}
	if b.Tokenizer.Spec.Model.Pictures() {
		return evalPictures(ctx, s, o, b, r)
	}
	c, err := o.open(ctx, s, b, r)
	if err != nil {
		return err
	}
	v := c.vectors
	defer v.Close()
	if _, err := scan(ctx, s, v); err != nil {
		return err
	}
	line := s.Line(v.Len(), "rows")
	scores, _, err := r.Evaluate(ctx, v, dataset.All(v.Len()), c.options, func(done, _ int) {
		line.Update(int64(done), "scored")
	})
	line.Done()
	if err != nil {
		return err
	}
	if o.json {
		return s.WriteJSON(scores)
	}
	if err := scoresTable(namedScores{dataset.Name(o.input), &scores}).Text(s.Out); err != nil {
		return err
	}
	if len(scores.Utilization.Levels) < 2 {
		return nil
	}
	fmt.Fprintln(s.Out)
	layout := b.Manifest.Layout
	if o.levels > 0 {
		layout.Levels = o.levels
	}
	return positionTable(layout, namedScores{"", &scores}).Text(s.Out)
}
