package twotower_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/task/recommend/twotower"
)

// Three items with IDs of two codes, the first two items with the same ID, and
// untrained towers that predict the item after the third: items with the same
// ID have the same score.
func ExampleRetriever() {
	vocab := []int{8, 8}
	c := twotower.Default()
	c.Layers, c.ItemLayers, c.Width, c.Heads, c.HeadDim, c.FeedForward = 1, 0, 16, 2, 8, 32
	m, err := twotower.New(c, twotower.Histories, vocab, twotower.Start{})
	if err != nil {
		log.Fatal(err)
	}
	items, err := network.NewItems([]uint32{3, 1, 3, 1, 5, 7}, vocab)
	if err != nil {
		log.Fatal(err)
	}
	backend, err := engine.Open(engine.Embedded)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	s, err := twotower.NewRetriever(ctx, backend, m, m.Init(1), items, network.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	found, err := s.Top(ctx, []network.Question{{History: []int32{2}}}, 3)
	if err != nil {
		log.Fatal(err)
	}
	score := map[int32]float64{}
	for _, item := range found[0] {
		score[item.Item] = item.Score
	}
	fmt.Println(len(found[0]), "items found; the first two score alike:", score[0] == score[1])
	// Output:
	// 3 items found; the first two score alike: true
}

// A search is read as its words, hashed.
func ExampleModel_Words() {
	m, err := twotower.New(twotower.Default(), twotower.Words, []int{256, 256}, twotower.Start{})
	if err != nil {
		log.Fatal(err)
	}
	query := m.Words("Coconut oil, pure")
	fmt.Println(len(query), "words; case does not matter:", query[1] == m.Words("OIL")[0])
	// Output:
	// 3 words; case does not matter: true
}
