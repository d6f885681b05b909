// Package network is shared by the networks of recommenders and search engines:
// questions and answers, the tokens of semantic IDs, the settings of transformers
// and the sizes of batches.
package network

import "slices"

// Question asks for items, with a user's history or with the text of a search.
type Question struct {
	Name    string  // of the user or the search
	History []int32 // rows of the catalogue's table, the latest last; may be empty
	Text    string
}

// Example is a question and one relevant item, to learn from.
type Example struct {
	Question
	Target   int32
	Relevant []int32 // all of them in ascending order, if there are more than one
	Own      []int32 // all that the user took in training, of which the history is a part
}

// Scored is an item that was found; a larger score is better.
type Scored struct {
	Item  int32
	Score float64
}

// Options refine how a network answers.
type Options struct {
	// Depth is the length of the longest list that can be asked for, and the number
	// of beams of a beam search.
	Depth int
	// ExcludeSeen leaves out the items of a question's history.
	ExcludeSeen bool
	// Questions is the number that the engine works on at a time; 0 leaves it to the
	// network.
	Questions int
	// Index is the kind of index of a network that has one, see index.New, and
	// Effort how hard it looks, see index.SearchOptions.
	Index  string
	Effort int
	// Prior is what a model starts from that has one.
	Prior Prior
}

// Rooms are the numbers of items, ascending, that batches of questions may have
// room for: few, so that the engine has few programs to compile, and short
// histories, which most are, do not cost as much as long ones.
func Rooms(longest int) []int {
	return slices.Compact([]int{(longest + 3) / 4, (longest + 1) / 2, longest})
}

// RoomFor returns the smallest room for n items, or the largest there is.
func RoomFor(rooms []int, n int) int {
	at, _ := slices.BinarySearch(rooms, min(n, rooms[len(rooms)-1]))
	return rooms[at]
}

// Group puts questions that need the same room into blocks of limited size and
// returns their numbers.
func Group(rooms []int, most int) [][]int {
	var blocks [][]int
	open := map[int]int{} // block with space left, by room
	for i, room := range rooms {
		at, started := open[room]
		if !started || len(blocks[at]) == most {
			at = len(blocks)
			open[room], blocks = at, append(blocks, nil)
		}
		blocks[at] = append(blocks[at], i)
	}
	return blocks
}
