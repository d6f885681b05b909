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
		Long: `Draws pictures over their reconstructions, where these go wrong, and the codes
between them, as one PNG. With --codes it draws what codes look like: patches of
the pictures that chose them.`,
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
	f.IntVar(&o.Codes, "codes", 0, "draw what so many codes look like, instead of pictures")
	f.Uint64Var(&o.Seed, "seed", 0, "draw a random choice of pictures instead of the first ones (0)")
	return cmd
}

func run(ctx context.Context, s *cli.Streams, o tokenize.GridOptions) error {
	result, err := tokenize.Grid(ctx, o, s)
	if err != nil {
		return err
	}
	return s.WriteResult(result, false)
}
