// Package sample is the command gritvq sample.
package sample

import (
	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/task/prior"
	"github.com/gritvq/gritvq/task/prior/gpt"
)

// New returns the command.
func New(s *cli.Streams) *cobra.Command {
	o := prior.SampleOptions{Sampling: gpt.DefaultSampling()}
	var class string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "sample PRIOR -o OUTPUT",
		Short: "Draw new pictures, or rows of codes, from a prior",
		Long: `Draws codes one after the other from a trained prior and decodes them with its
tokenizer. The output is a grid of pictures (.png), a .tar or a folder of them, or
a file of codes (.npy, .parquet, .jsonl, .gvq). A prior of plain rows of codes
draws a file of codes.

A picture depends on the seed and its number only: more pictures begin with the
same ones. Repeat the command to resume a killed run.

--temperature below 1, --top-k and --top-p (applied in this order) draw more
probable pictures, which are less diverse. --complete keeps the upper half of a
picture and draws the rest.`,
		Example: `  gritvq sample prior -o grid.png
  gritvq sample prior -n 5000 -o samples.tar --temperature 0.95 --top-p 0.98
  gritvq sample prior -n 16 -o cats/ --class cat --guidance 2
  gritvq sample prior -n 15 -o completed.png --complete photo.jpg
  gritvq sample prior -n 1000 -o codes.npy --seed 7`,
		Args: cli.Arguments("PRIOR"),
	}
	cli.OutputFlag(cmd, &o.Output, "grid (.png), .tar or folder of pictures, or file of codes", "grid.png")
	f := cmd.Flags()
	f.IntVarP(&o.Count, "count", "n", 64, "pictures or rows to draw")
	f.Float64Var(&o.Sampling.Temperature, "temperature", 1, "below 1 prefers probable codes; 0 always takes the most probable one")
	f.IntVar(&o.Sampling.TopK, "top-k", 0, "draw from so many most probable codes (0: all)")
	f.Float64Var(&o.Sampling.TopP, "top-p", 1, "draw from the fewest codes with this share of the probability")
	f.Uint64Var(&o.Sampling.Seed, "seed", 1, "with its number decides a picture")
	f.StringVar(&class, "class", "", "class of the pictures, of a prior trained with --labels")
	f.Float64Var(&o.Sampling.Guidance, "guidance", 1, "weight of the class: above 1 draws what is typical of it")
	f.StringVar(&o.Complete, "complete", "", "picture whose upper half is kept")
	f.IntVar(&o.Sampling.Batch, "batch", 0, "pictures drawn at a time on a GPU (default 256)")
	f.BoolVar(&o.Force, "force", false, "replace the numbered pictures of a folder")
	cli.WorkersFlag(cmd, new(int))
	cli.JSONFlag(cmd, &asJSON, "the result as")
	cli.BackendFlag(cmd, &o.Backend)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.Dir = args[0]
		if f.Changed("class") {
			o.Class = &class
		}
		sampled, err := prior.Sample(cmd.Context(), o, s)
		return s.WriteResult(sampled, err, asJSON)
	}
	return cmd
}
