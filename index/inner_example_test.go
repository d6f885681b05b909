package index_test

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/index"
)

// Five items in the plane, and a query.
var (
	itemRows = []float32{
		1, 0,
		0, 1,
		2, 2,
		0.75, 0.25,
		-1, 0,
	}
	queryRow = []float32{1, 0.5}
)

func ExampleExact() {
	items, scores := make([]uint32, 2), make([]float32, 2)
	for _, metric := range []index.Metric{index.Euclidean, index.InnerProduct} {
		exact, err := index.NewExact(metric, itemRows, 5, 2)
		if err != nil {
			fmt.Println(err)
			return
		}
		exact.Search(queryRow, 1, 2, items, scores, index.SearchOptions{})
		fmt.Println(metric, items, scores)
	}
	// Output:
	// euclidean [3 0] [0.125 0.25]
	// inner product [2 0] [3 1]
}

func ExampleIVF() {
	ivf, err := index.NewIVF(context.Background(), index.Euclidean, itemRows, 5, 2, index.IVFOptions{Lists: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := ivf.Add([]float32{1, 0.25}, 1); err != nil {
		fmt.Println(err)
		return
	}
	items := make([]uint32, 3)
	ivf.Search(queryRow, 1, 3, items, nil, index.SearchOptions{Effort: 3}) // all lists: exact
	fmt.Println(items)
	// Output: [5 3 0]
}

func ExampleHNSW() {
	graph, err := index.NewHNSW(context.Background(), index.InnerProduct, itemRows, 5, 2, index.HNSWOptions{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	items, scores := make([]uint32, 3), make([]float32, 3)
	graph.Search(queryRow, 1, 3, items, scores, index.SearchOptions{})
	fmt.Println(items, scores)
	// Output: [2 0 3] [3 1 0.875]
}
