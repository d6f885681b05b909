package main

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/data"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/spf13/cobra"
)

// evalOptions is the command line of eval.
type evalOptions struct {
	bundle  string
	input   string
	levels  int
	beam    int
	workers int
	drop    bool
	backend string
	json    bool
}

func newEvalCommand(s *streams, run func(context.Context, *streams, evalOptions) error) *cobra.Command {
	var o evalOptions
	cmd := &cobra.Command{
		Use:   "eval DIR VECTORS",
		Short: "Score a tokenizer on a file of vectors",
		Long: `Encodes and decodes every row and reports how close the reconstructions are and how
the codes are used. relative_error is the squared error divided by the spread of
the vectors around their mean: 0 is perfect, 1 is answering with the mean. Rates
are fractions.`,
		Example: `  gritvq eval tok vectors.npy
  gritvq eval tok vectors.npy --json
  gritvq eval tok vectors.npy --levels 2 --beam 4`,
		Args: arguments("DIR", "VECTORS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.bundle, o.input = args[0], args[1]
			return run(cmd.Context(), s, o)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.levels, "levels", 0, "use only the first levels (default all)")
	f.IntVar(&o.beam, "beam", 0, "encodings kept from level to level (default the method's own: 5 for rq, else 1)")
	f.IntVar(&o.workers, "workers", 0, "threads to use (default all cores)")
	f.BoolVar(&o.drop, "drop-nonfinite", false, "leave out rows with NaN or Inf")
	f.BoolVar(&o.json, "json", false, "print the scores as one JSON object")
	engineFlag(cmd, &o.backend)
	return cmd
}

func runEval(ctx context.Context, s *streams, o evalOptions) error {
	b, r, err := openRuntime(o.bundle, o.backend, o.workers)
	if err != nil {
		return err
	}
	if err := checkLevels(b, o.levels, o.beam); err != nil {
		return err
	}
	v, _, err := openVectors(ctx, s, o.input, o.drop)
	if err != nil {
		return err
	}
	defer v.Close()
	if err := checkDimension(v, b.Manifest.Input); err != nil {
		return err
	}
	if _, err := scan(ctx, s, v); err != nil {
		return err
	}
	line := s.line(v.Len())
	scores, _, err := r.Evaluate(ctx, v, data.All(v.Len()), tokenizer.Options{Levels: o.levels, Beam: o.beam}, func(done, _ int) {
		line.Update(int64(done), "rows scored")
	})
	line.Done()
	if err != nil {
		return err
	}
	if o.json {
		return s.writeJSON(scores)
	}
	if err := scoresTable(namedScores{baseName(o.input), &scores}).Text(s.out); err != nil {
		return err
	}
	if len(scores.Utilization.Levels) < 2 {
		return nil
	}
	fmt.Fprintln(s.out)
	layout := b.Manifest.Layout
	if o.levels > 0 {
		layout.Levels = o.levels
	}
	return positionTable(layout, namedScores{"", &scores}).Text(s.out)
}
