package main

import (
	"context"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/dataset"
	"github.com/spf13/cobra"
)

// trainOptions is the command line of train.
type trainOptions struct {
	settings settings
	input    string
	output   string
	held     string // --val
	codebook string // --init-codebook
	backend  string
	workers  int
	resume   bool
	force    bool
	drop     bool
	json     bool
	metrics  string // directory of metric networks
}

func newTrainCommand(s *cli.Streams, run func(context.Context, *cli.Streams, trainOptions) error) *cobra.Command {
	var o trainOptions
	cmd := &cobra.Command{
		Use:   "train DATA -o DIR",
		Short: "Train a tokenizer on vectors or pictures",
		Long: `Trains a tokenizer and writes it to a directory with a report. DATA is a .npy, .npz,
.parquet, .fvecs or .bvecs file of vectors; or pictures: a folder, a .tar or a .zip
of JPEG, PNG, GIF, WebP or BMP files; or a built-in set (synthetic:manifold,
synthetic:mixture, synthetic:scenes). Part of it is held out to score the result.
Settings come from the preset, then the config file, then flags, then --set. A run
that was interrupted or killed continues with --resume as if nothing had happened.`,
		Example: `  gritvq train vectors.npy -o tok
  gritvq train vectors.npy -o tok --codes 1024 --levels 2 --steps 5000
  gritvq train photos.tar -o tok --size 128 --down 8 --codes 4096
  gritvq train synthetic:manifold -o tok --method ste --hidden none --set train.optimizer.rate=0.002`,
		Args: cli.Arguments("DATA"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.input = args[0]
			o.settings.pictures = dataset.KindOf(o.input).IsPictures()
			if err := cli.RequireOutput(o.output, "tok"); err != nil {
				return err
			}
			return run(cmd.Context(), s, o)
		},
	}
	cli.OutputFlag(cmd, &o.output, "directory of the tokenizer")
	o.settings.flags = cmd.Flags()
	o.settings.addFlags(cmd.Flags())
	o.settings.addPictureFlags()
	f := cmd.Flags()
	f.StringVar(&o.metrics, "metrics", "", "pictures: directory of metric networks (default $GRITVQ_METRICS)")
	f.StringVar(&o.held, "val", "", "held-out vectors or pictures, instead of --split")
	f.StringVar(&o.codebook, "init-codebook", "", "start from these codes: an array [codes*levels, dim], level after level, in\nthe units of the vectors (without a network) or of the latents")
	f.BoolVar(&o.resume, "resume", false, "continue an interrupted run")
	f.BoolVar(&o.force, "force", false, "replace what is in the directory")
	f.BoolVar(&o.drop, "drop-nonfinite", false, "leave out rows with NaN or Inf")
	cli.WorkersFlag(cmd, &o.workers)
	cli.JSONFlag(cmd, &o.json, "the result as")
	cli.BackendFlag(cmd, &o.backend)
	return cmd
}
