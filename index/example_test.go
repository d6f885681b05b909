package index_test

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/index"
)

func ExampleCodes_Nearest() {
	codes, err := index.NewCodes([]float32{
		0, 0,
		1, 0,
		0, 1,
	}, 3, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float32{0.75, 0.25, 0.5, 0} // the second row is as near to code 0 as to code 1
	nearest, dist := make([]uint32, 2), make([]float32, 2)
	codes.Nearest(x, 2, nearest, dist, 0)
	fmt.Println(nearest, dist)
	// Output: [1 0] [0.125 0.25]
}

func ExampleKMeans() {
	x := []float32{1, 2, 3, 11, 12, 13}
	centers, counts, err := index.KMeans(context.Background(), x, 6, 1, 2, index.KMeansOptions{Seed: 3})
	fmt.Println(centers, counts, err)
	// Output: [12 2] [3 3] <nil>
}

func ExampleResidual() {
	coarse, _ := index.NewCodes([]float32{0, 10, 20}, 3, 1)
	fine, _ := index.NewCodes([]float32{-4, -2, 0, 2, 4}, 5, 1)
	q, err := index.NewResidual(coarse, fine)
	if err != nil {
		fmt.Println(err)
		return
	}
	codes, decoded := make([]uint32, 4), make([]float32, 2)
	q.Encode([]float32{11.5, 18.1}, 2, 0, 1, codes, 0)
	err = q.Decode(codes, 2, 0, decoded)
	fmt.Println(codes, decoded, err)
	// Output: [1 3 2 1] [12 18] <nil>
}
