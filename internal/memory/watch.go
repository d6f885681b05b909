package memory

import (
	"errors"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// ErrFull says that the data that a command holds fill the memory, although nothing that it weighed did.
var ErrFull = errors.New("the data of this command need more memory than is available; use less data, or a machine or limit with more")

// Watch looks at the process after every collection of garbage, until it is stopped: what the process holds then is
// announced, and if it exceeds the limit of the process and nothing else is left, full is called. So what grows piece by
// piece, such as what is read from files, needs no plan.
func Watch(full func(error)) (stop func()) {
	var stopped atomic.Bool
	var next func()
	next = func() {
		runtime.SetFinalizer(new(sentinel), func(*sentinel) {
			if stopped.Load() {
				return
			}
			go look(full) // other finalizers do not wait for it
			next()
		})
	}
	next()
	return func() { stopped.Store(true) }
}

// sentinel is garbage as soon as it is made. It holds a pointer, because small objects without one share their memory.
type sentinel struct{ _ *byte }

func look(full func(error)) {
	announce("the data in memory", 0)
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	held, limit := clamp(live[0].Value.Uint64()), debug.SetMemoryLimit(-1)
	if limit < math.MaxInt64 && held > limit && Available() < held/8 {
		full(ErrFull)
	}
}
