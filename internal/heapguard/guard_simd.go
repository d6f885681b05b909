//go:build goexperiment.simd && amd64

package heapguard

import (
	"runtime"
	"sync"
)

// room is the address space kept beyond the heap. It is never touched and takes
// no memory; a heap that outgrows it is as safe as it was without.
const room = 1 << 30

var once sync.Once

// Ensure maps room for the heap to grow into. The runtime hands out the lowest
// free addresses first and keeps what it once mapped, so allocating a block and
// letting it go is enough. Call it before the engine runs; only the first call
// does anything.
func Ensure() {
	once.Do(func() {
		runtime.KeepAlive(make([]byte, room))
		runtime.GC()
	})
}
