package tokenize

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/task/picture/draw"
)

// GridOptions name a tokenizer, pictures and the drawing of them.
type GridOptions struct {
	CodingOptions
	Output string // .png
	Images int    // pictures to draw
	Codes  int    // above 0: draw patches of this number of codes instead of pictures
	Seed   uint64 // above 0: draw a random choice of pictures instead of the first
}

// sheetPictures is the number of pictures that patches of codes are taken from.
const sheetPictures = 512

// Grid draws pictures with reconstructions, errors and codes, or patches of codes, as one PNG.
func Grid(ctx context.Context, o GridOptions, watch task.Watcher) (Result, error) {
	switch {
	case dataset.Extension(o.Output) != ".png":
		return nil, usage.Errorf("%s: pictures are written as .png", o.Output)
	case o.Images < 1 || o.Codes < 0:
		return nil, usage.Errorf("--images must be at least 1 and --codes not negative")
	}
	if err := output.Check(o.Input, o.Output); err != nil {
		return nil, err
	}
	t, err := o.open()
	if err != nil {
		return nil, err
	}
	if !t.pictures() {
		return nil, fmt.Errorf("%s is a tokenizer of vectors; grid draws pictures", o.Dir)
	}
	set, _, err := o.data(ctx, t, watch)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	rows := dataset.All(set.Len())
	if o.Seed > 0 {
		rows, _ = dataset.Split(set.Len(), 0, o.Seed)
	}
	count := o.Images
	if o.Codes > 0 {
		count = sheetPictures
	}
	sample, err := picture.Take(ctx, t.Runtime, set, rows.Head(count), o.runtime())
	if err != nil {
		return nil, err
	}
	drawing, err := sample.Grid(o.Images)
	if o.Codes > 0 {
		drawing, err = sample.PatchSheet(o.Codes)
	}
	if err != nil {
		return nil, err
	}
	size := drawing.Bounds().Size()
	return Drawn{o.Output, size.X, size.Y}, draw.WritePNG(o.Output, drawing)
}
