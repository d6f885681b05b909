package network

import "slices"

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

// Group puts questions that need the same room into blocks of at most so many: it
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
