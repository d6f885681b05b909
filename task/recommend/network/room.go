package network

import (
	"fmt"

	"github.com/gritvq/gritvq/internal/memory"
)

// CheckRoom fails if the inputs of a batch, so many numbers of four bytes at every place of every row, need more memory than
// there is.
func CheckRoom(rows, places, numbers int) error {
	return memory.Check(fmt.Sprintf("a batch of %d histories with room for %d tokens", rows, places), rows, places, numbers, 4)
}
