package generation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/task/picture/draw"
)

// Files of the pictures that a job draws.
const (
	samplesFile = "samples.tar"
	gridFile    = "grid.png" // the first of them
)

// drawnInRow is the number of pictures in a row of a drawing.
const drawnInRow = 8

// drawFirst draws two rows of the first pictures of a file of samples.
func drawFirst(ctx context.Context, samples, path string) error {
	all, err := firstSamples(ctx, samples, 2*drawnInRow)
	if err != nil {
		return err
	}
	var rows []draw.Row
	for part := range slices.Chunk(all.Pictures, drawnInRow) {
		rows = append(rows, draw.Row{Pictures: part})
	}
	return draw.WritePNG(path, draw.Grid(rows, nil))
}

// Draw writes a picture for every data set, samples-DATA.png below work: a row of samples of every method with the codes of the main
// table. All jobs share the seeds of samples, so pictures below each other differ by the method alone. It returns the paths; jobs
// whose samples are gone are left out.
func Draw(ctx context.Context, records []Record, work string) (paths []string, err error) {
	rows := map[string][]draw.Row{}
	var sets []string
	for _, method := range allMethods {
		for _, r := range records {
			if r.Failed != "" || r.row() != method || r.Codes != mainCodes || r.Seed != 1 {
				continue
			}
			row, err := firstSamples(ctx, filepath.Join(work, r.ID, samplesFile), drawnInRow)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("the samples of %s: %w", r.ID, err)
			}
			row.Title = title(method)
			if rows[r.Data] == nil {
				sets = append(sets, r.Data)
			}
			rows[r.Data] = append(rows[r.Data], row)
		}
	}
	for _, data := range slices.Sorted(slices.Values(sets)) {
		path := filepath.Join(work, "samples-"+data+".png")
		if err := draw.WritePNG(path, draw.Grid(rows[data], nil)); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// firstSamples are at most so many pictures.
func firstSamples(ctx context.Context, path string, most int) (row draw.Row, err error) {
	if _, err := os.Stat(path); err != nil {
		return row, err
	}
	set, err := images.Open(ctx, path, images.Options{})
	if err != nil {
		return row, err
	}
	defer set.Close()
	for i := range min(most, set.Len()) {
		p, err := set.Whole(i)
		if err != nil {
			return row, err
		}
		row.Pictures = append(row.Pictures, p)
	}
	return row, nil
}
