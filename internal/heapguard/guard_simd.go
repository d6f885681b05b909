//go:build goexperiment.simd && amd64

package heapguard

import (
	"runtime"
	"sync"
)

const (
	// room is the address space kept below the fence. It is never touched and
	// takes no memory; a heap that outgrows it is as safe as it was without.
	room = 1 << 30
	// The heap grows by multiples of 4 MiB: a fence of one page more leaves
	// nearly as much beyond itself, mapped and hardly used.
	fenceSize = 4<<20 + 8<<10
)

var (
	once  sync.Once
	fence []byte // stays where it is, untouched
)

// Ensure maps room for the heap to grow into, with a fence above it. The runtime
// hands out the lowest free addresses first and never unmaps them, so
// allocating a block and letting it go is enough. While it is taken, though,
// processors may set some pages behind it aside for themselves, and use them
// later: the fence is there so that these are not the last of the heap. Call
// Ensure before the engine runs; only the first call does anything.
func Ensure() {
	once.Do(func() {
		block := make([]byte, room)
		fence = make([]byte, fenceSize)
		runtime.KeepAlive(block)
		runtime.GC()
	})
}
