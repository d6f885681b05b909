package seqrec_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/task/recommend/seqrec"
)

// Three items with IDs of two codes, plus a third code that resolves collisions,
// and an untrained model that predicts the item after two of them.
func ExampleBeamSearch() {
	vocab := []int{8, 8, 2}
	items, err := network.NewItems([]uint32{
		3, 1, 0,
		3, 1, 1,
		5, 7, 0,
	}, vocab)
	if err != nil {
		log.Fatal(err)
	}
	c := seqrec.Default()
	c.Layers, c.Width, c.Heads, c.HeadDim, c.FeedForward = 1, 16, 2, 8, 32
	m, err := seqrec.New(c, vocab, false)
	if err != nil {
		log.Fatal(err)
	}
	backend, err := engine.Open(engine.Embedded)
	if err != nil {
		log.Fatal(err)
	}
	s, err := seqrec.NewBeamSearch(backend, m, m.Init(1), items, network.Options{ExcludeSeen: true})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	found, err := s.Top(context.Background(), []network.Question{{Name: "ada", History: []int32{0, 2}}}, 10)
	if err != nil {
		log.Fatal(err)
	}
	for _, item := range found[0] {
		fmt.Println("item", item.Item, "with ID", items.ID(item.Item))
	}
	// Output:
	// item 1 with ID [3 1 1]
}

// A batch has a fixed shape: rows and places that are not needed are filled up.
func ExampleModel_Batch() {
	items, err := network.NewItems([]uint32{3, 1, 5, 7}, []int{8, 8})
	if err != nil {
		log.Fatal(err)
	}
	m, err := seqrec.New(seqrec.Default(), []int{8, 8}, false)
	if err != nil {
		log.Fatal(err)
	}
	examples := []network.Example{{Question: network.Question{Name: "ada", History: []int32{0}}, Target: 1}}
	inputs, err := m.Batch(items, examples, seqrec.Shape{Rows: 2, History: m.Rooms()[0]}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, x := range inputs {
		fmt.Println(x.Shape())
	}
	fmt.Println("targets", inputs[2].Value())
	// Output:
	// (Int32)[2, 11]
	// (Int32)[2]
	// (Int32)[2, 2]
	// (Float32)[2]
	// targets [[5 7] [0 0]]
}
