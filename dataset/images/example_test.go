package images_test

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/dataset/images"
)

// A training step reads a batch of squares; the same seed and step give the
// same pixels again.
func ExampleSet() {
	set, err := images.Open(context.Background(), "synthetic:scenes?images=1000&size=72&seed=7", images.Options{
		Size: 64,
		Warn: func(d images.Damage) { fmt.Println("left out:", d.Key, d.Err) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer set.Close()

	rows := []int{12, 640, 3}
	batch := make([]uint8, len(rows)*set.Size()*set.Size()*3)
	damaged, err := set.Crops(rows, 7, 100, batch)
	if err != nil {
		fmt.Println(err)
		return
	}
	whole, err := set.Whole(12)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(set.Len(), "pictures;", len(batch), "bytes;", len(damaged), "damaged")
	fmt.Println(set.Key(12), "has", whole.Width, "x", whole.Height, "pixels")
	// Output:
	// 1000 pictures; 36864 bytes; 0 damaged
	// 000012 has 72 x 72 pixels
}
