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
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/task/picture/draw"
)

// Files of the pictures that a job draws.
const (
	samplesFile = "samples.tar"
	firstFile   = "first.tar" // the first of them, which are shown
)

// drawnInRow is the number of pictures of a method in a drawing.
const drawnInRow = 8

// keepFirst copies the first pictures of the samples of a job, so that they can be shown where the others are not.
func keepFirst(ctx context.Context, dir string) error {
	row, err := firstSamples(ctx, filepath.Join(dir, samplesFile))
	if err != nil {
		return err
	}
	out, err := picture.Create(filepath.Join(dir, firstFile), len(row.Pictures))
	if err != nil {
		return err
	}
	defer out.Abort()
	for i, p := range row.Pictures {
		if err := out.Add(fmt.Sprintf("%06d", i), p.(*images.RGB)); err != nil {
			return err
		}
	}
	return out.Commit()
}

// drawing is the end of the name of a picture beside the page.
func drawing(data string) string { return "-samples-" + data + ".png" }

// Draw writes a picture for every data set, generation-samples-DATA.png in the directory of the page, from the jobs' directories below
// work: a row of samples of every method with the codes of the main table. All jobs share the seeds of samples, so pictures below
// each other differ by the method alone. It returns the paths; jobs whose samples are gone are left out.
func Draw(ctx context.Context, records []Record, work, dir string) (paths []string, err error) {
	rows := map[string][]draw.Row{}
	var sets []string
	for _, method := range allMethods {
		for _, r := range records {
			if r.Failed != "" || r.row() != method || r.Codes != mainCodes || r.Seed != 1 {
				continue
			}
			row, err := firstSamples(ctx, filepath.Join(work, r.ID, firstFile))
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
		path := filepath.Join(dir, Name+drawing(data))
		if err := draw.WritePNG(path, draw.Grid(rows[data], nil)); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func firstSamples(ctx context.Context, path string) (row draw.Row, err error) {
	if _, err := os.Stat(path); err != nil {
		return row, err
	}
	set, err := images.Open(ctx, path, images.Options{})
	if err != nil {
		return row, err
	}
	defer set.Close()
	for i := range min(drawnInRow, set.Len()) {
		p, err := set.Whole(i)
		if err != nil {
			return row, err
		}
		row.Pictures = append(row.Pictures, p)
	}
	return row, nil
}
