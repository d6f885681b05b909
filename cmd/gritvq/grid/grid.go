// Package grid is the command gritvq grid.
package grid

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/task/tokenize"
)

// New returns the command.
func New(s *cli.Streams) *cobra.Command {
	var o tokenize.GridOptions
	cmd := &cobra.Command{
		Use:   "grid DIR PICTURES -o PNG",
		Short: "Draw pictures beside their reconstructions",
		Long: `Draws pictures, their reconstructions, error maps and code maps as one PNG. With
--codes it draws, for each code, patches of pictures that were assigned to it.`,
		Example: `  gritvq grid tok photos.tar -o grid.png
  gritvq grid tok photos.tar -o grid.png --images 12
  gritvq grid tok photos.tar -o codes.png --codes 40`,
		Args: cli.Arguments("DIR", "PICTURES"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir, o.Input = args[0], args[1]
			return run(cmd.Context(), s, o)
		},
	}
	cli.OutputFlag(cmd, &o.Output, "picture to write (.png)", "grid.png")
	cli.LevelsFlag(cmd, &o.CodingOptions)
	f := cmd.Flags()
	f.IntVar(&o.Images, "images", 8, "pictures to draw")
	f.IntVar(&o.Codes, "codes", 0, "draw patches of so many codes instead of pictures")
	f.Uint64Var(&o.Seed, "seed", 0, "draw a random choice of pictures (0: the first ones)")
	return cmd
}

func run(ctx context.Context, s *cli.Streams, o tokenize.GridOptions) error {
	result, err := tokenize.Grid(ctx, o, s)
	return s.WriteResult(result, err, false)
}
