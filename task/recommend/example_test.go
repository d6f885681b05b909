package recommend_test

import (
	"fmt"
	"log"

	"github.com/gritvq/gritvq/task/recommend"
)

// Kinds differ in their settings and are used alike.
func ExampleDefault() {
	for _, kind := range recommend.Kinds(recommend.Recommending) {
		c, err := recommend.Default(recommend.Recommending, kind)
		if err != nil {
			log.Fatal(err)
		}
		if t := c.Training(); t != nil {
			t.Steps = 100
		}
		m, err := c.New(recommend.Size{Vocab: []int{256, 256, 256, 256}, Items: 1000})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(m)
	}
	// Output:
	// dual, towers of 2 and 2 layers of width 128
	// generative, 4 + 4 layers of width 128
	// popularity
	// item-kNN (last 5, decay 0, shrink 10)
	// transitions (window 5, norm 0, last 5, decay 1)
	// EASE (l2 300, last 20, decay 0)
	// SASRec, 2 layers of width 64
}
