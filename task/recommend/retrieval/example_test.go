package retrieval_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/task/recommend/retrieval"
)

// Searches that are made up from the titles and categories of a catalogue.
func ExampleSource() {
	catalogue, err := interactions.NewCatalogue([]interactions.Item{
		{ID: "1", Title: "Coconut balm", Categories: []string{"Beauty", "Oils"}},
		{ID: "2", Title: "Coconut cream", Categories: []string{"Beauty", "Lotions"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	source := retrieval.Source{Names: []string{"derived?seed=1"}}
	queries, err := source.Open(context.Background(), catalogue)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(queries.List), "searches, each of one answer:", len(queries.List[0].Answers) == 1)
	// Output: 2 searches, each of one answer: true
}
