package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/task/picture/draw"
	"github.com/gritvq/gritvq/tokenizer"
)

// gridOptions is the command line of grid.
type gridOptions struct {
	codingOptions
	output string
	images int
	codes  int // draw what so many codes look like instead
	seed   uint64
}

func newGridCommand(s *cli.Streams, run func(context.Context, *cli.Streams, gridOptions) error) *cobra.Command {
	var o gridOptions
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
			o.bundle, o.input = args[0], args[1]
			if err := cli.RequireOutput(o.output, "grid.png"); err != nil {
				return err
			}
			return run(cmd.Context(), s, o)
		},
	}
	cli.OutputFlag(cmd, &o.output, "picture to write (.png)")
	f := cmd.Flags()
	f.IntVar(&o.images, "images", 8, "pictures to draw")
	f.IntVar(&o.codes, "codes", 0, "draw what so many codes look like, instead of pictures")
	f.Uint64Var(&o.seed, "seed", 0, "draw a random choice of pictures instead of the first ones (0)")
	f.IntVar(&o.levels, "levels", 0, "use only the first levels (default all)")
	cli.WorkersFlag(cmd, &o.workers)
	cli.BackendFlag(cmd, &o.backend)
	return cmd
}

// sheetPictures is the number of pictures whose patches show what codes look
// like.
const sheetPictures = 512

func runGrid(ctx context.Context, s *cli.Streams, o gridOptions) error {
	switch {
	case !strings.EqualFold(filepath.Ext(o.output), ".png"):
		return usage.Errorf("%s: pictures are written as .png", o.output)
	case o.images < 1 || o.codes < 0:
		return usage.Errorf("--images must be at least 1 and --codes not negative")
	}
	if err := output.Check(o.input, o.output); err != nil {
		return err
	}
	b, r, err := openRuntime(o.bundle, o.backend, o.workers)
	if err != nil {
		return err
	}
	if !b.Tokenizer.Spec.Model.Pictures() {
		return fmt.Errorf("%s is a tokenizer of vectors; grid draws pictures", o.bundle)
	}
	if err := checkLevels(b, o.levels, 0); err != nil {
		return err
	}
	set, err := openPictures(ctx, s, o.input, b.Tokenizer.Spec.Model.Image, o.workers)
	if err != nil {
		return err
	}
	defer set.Close()
	rows := dataset.All(set.Len())
	if o.seed > 0 {
		rows, _ = dataset.Split(set.Len(), 0, o.seed)
	}
	count := o.images
	if o.codes > 0 {
		count = sheetPictures
	}
	sample, err := picture.Take(ctx, r, set, rows.Head(count), tokenizer.Options{Levels: o.levels})
	if err != nil {
		return err
	}
	drawing, err := sample.Grid(o.images)
	if o.codes > 0 {
		drawing, err = sample.PatchSheet(o.codes)
	}
	if err != nil {
		return err
	}
	if err := draw.WritePNG(o.output, drawing); err != nil {
		return err
	}
	size := drawing.Bounds().Size()
	_, err = fmt.Fprintf(s.Out, "%s: %d x %d pixels\n", o.output, size.X, size.Y)
	return err
}
