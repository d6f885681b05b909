package tokenize

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/tokenizer"
)

// summarize returns the fingerprint, and of vectors mean and variance; it fails on NaN and Inf.
func summarize(ctx context.Context, set dataset.Set, watch task.Watcher) (stats vectors.Stats, err error) {
	v, ok := set.(*vectors.Vectors)
	if !ok {
		stats.Fingerprint, err = set.Fingerprint()
		return stats, err
	}
	line := watch.Line(v.Len(), "rows")
	defer line.Done()
	return v.Scan(ctx, func(done, _ int) { line.Update(int64(done), "read") })
}

// openSet opens vectors or pictures, as the model needs. With drop, vectors with NaN or Inf are left out and counted.
func openSet(ctx context.Context, path string, c tokenizer.Config, drop bool, workers int, watch task.Watcher) (dataset.Set, int, error) {
	if c.Pictures() {
		set, err := picture.Open(ctx, path, images.Options{Size: c.Image.Size, Short: c.Image.Short, Workers: workers}, watch)
		if err != nil {
			return nil, 0, err // set is a nil pointer, not a nil Set
		}
		return set, 0, nil
	}
	line := watch.Line(0, "files")
	defer line.Done()
	v, err := vectors.Open(ctx, path, vectors.Options{Progress: func(done, total int) {
		line.Of(int64(total), "rows")
		line.Update(int64(done), "converted")
	}})
	if err != nil {
		return nil, 0, err
	}
	if note := v.Note(); note != "" {
		watch.Remark("%s of %s", note, path)
	}
	if !drop {
		return v, 0, nil
	}
	view, dropped, err := v.DropNonFinite(ctx)
	v.Close()
	if err != nil {
		return nil, 0, err
	}
	if dropped > 0 {
		watch.Remark("left out %d of %d rows of %s with NaN or Inf", dropped, view.Len()+dropped, path)
	}
	return view, dropped, nil
}

// CheckDimension compares vectors with the input of a tokenizer.
func CheckDimension(set dataset.Set, want int) error {
	if set.Input() != want {
		return fmt.Errorf("%s has %d dimensions, the tokenizer was trained on %d; give vectors of the same kind",
			set.Path(), set.Input(), want)
	}
	return nil
}
