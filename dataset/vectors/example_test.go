package vectors_test

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/vectors"
)

// A training loop reads batches by step; resuming at step 3 would see the same
// rows that this run sees from there on.
func Example() {
	ctx := context.Background()
	vectors, err := vectors.Open(ctx, "synthetic:mixture?rows=1000&dim=8&seed=7", vectors.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer vectors.Close()

	train, held := dataset.Split(vectors.Len(), 0.1, 7)
	sampler, err := dataset.NewSampler(train, 256, 7)
	if err != nil {
		fmt.Println(err)
		return
	}
	rows := make([]int, sampler.BatchSize())
	batches := dataset.NewPrefetcher(ctx, 0, 5, 2, func(step int64) ([]float32, error) {
		sampler.Batch(step, rows)
		values := make([]float32, len(rows)*vectors.Dim())
		return values, vectors.Gather(rows, values)
	}, nil)
	defer batches.Close()
	for step := int64(0); ; step++ {
		batch, err := batches.Next(ctx)
		if err != nil { // io.EOF after the last step
			break
		}
		fmt.Println("step", step, "epoch", sampler.Epoch(step), "numbers", len(batch))
	}
	fmt.Println("held out", held.Len())
	// Output:
	// step 0 epoch 0 numbers 2048
	// step 1 epoch 0 numbers 2048
	// step 2 epoch 0 numbers 2048
	// step 3 epoch 0 numbers 2048
	// step 4 epoch 1 numbers 2048
	// held out 100
}
