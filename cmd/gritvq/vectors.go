package main

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/dataset/vectors"
)

// openVectors opens a file of vectors. Files that need a converted copy show its
// progress. With drop, rows with NaN or Inf are left out and counted.
func openVectors(ctx context.Context, s *cli.Streams, path string, drop bool) (v *vectors.Vectors, dropped int, err error) {
	line := s.Line(0, "rows")
	v, err = vectors.Open(ctx, path, vectors.Options{Progress: func(done, total int) {
		line.Of(int64(total), "rows")
		line.Update(int64(done), "converted")
	}})
	line.Done()
	if err != nil || !drop {
		return v, 0, err
	}
	view, dropped, err := v.DropNonFinite(ctx)
	v.Close()
	if err != nil {
		return nil, 0, err
	}
	if dropped > 0 {
		s.Remark("left out %d of %d rows of %s with NaN or Inf", dropped, view.Len()+dropped, path)
	}
	return view, dropped, nil
}

// checkFinite reports the first row of a block [n,dim] with NaN or Inf; start is
// the block's first row, and advice what to do.
func checkFinite(path string, block []float32, dim, start int, advice string) error {
	for i, x := range block {
		if x-x != 0 {
			return fmt.Errorf("row %d of %s holds NaN or Inf; %s", start+i/dim, path, advice)
		}
	}
	return nil
}

// checkDimension compares a file with a tokenizer.
func checkDimension(v *vectors.Vectors, want int) error {
	if v.Dim() != want {
		return fmt.Errorf("%s has %d dimensions, the tokenizer was trained on %d; give vectors of the same kind", v.Path(), v.Dim(), want)
	}
	return nil
}

// scan summarises vectors with a progress line.
func scan(ctx context.Context, s *cli.Streams, v *vectors.Vectors) (vectors.Stats, error) {
	line := s.Line(v.Len(), "rows")
	defer line.Done()
	return v.Scan(ctx, func(done, _ int) { line.Update(int64(done), "read") })
}
