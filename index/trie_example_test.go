package index_test

import (
	"fmt"

	"github.com/gritvq/gritvq/index"
)

func ExampleTrie() {
	// Items 0 and 3 have the same two codes.
	trie, err := index.NewTrie([]uint32{
		1, 0,
		1, 2,
		0, 1,
		1, 0,
	}, 4, []int{2, 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	node := trie.Find([]uint32{1})
	codes, _ := trie.Children(node)
	fmt.Println(codes, trie.Items(trie.Find([]uint32{1, 0})))
	// Output: [0 2] [0 3]
}

// Beam search for one user, with a model that says the same after every prefix.
func ExampleTrie_Walk() {
	trie, err := index.NewTrie([]uint32{1, 0, 1, 2, 0, 1, 1, 0}, 4, []int{2, 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	beams := trie.Start(1)
	first := []float32{-1.5, -0.25} // log-probabilities of the first code
	beams = trie.Walk(beams, first, 2, 2, 0)
	fmt.Println(beams.Codes, beams.Totals)
	second := []float32{
		-1, -0.5, -2, // after the best beam: the likeliest code, 1, names no item
		-1, -0.5, -2,
	}
	beams = trie.Walk(beams, second, 3, 2, 0)
	fmt.Println(beams.Parents, beams.Codes, beams.Totals)
	items := make([]uint32, 3)
	trie.Rank(beams, 3, items)
	fmt.Println(items)
	// Output:
	// [1 0] [-0.25 -1.5]
	// [0 1] [0 1] [-1.25 -2]
	// [0 3 2]
}
