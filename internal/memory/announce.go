package memory

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// always is what a process takes beside its heap, and beside what is too small to be weighed: code, stacks, the
// collector's own tables.
const always = 192 << 20

// announced is the most that the process has said it may hold.
var announced struct {
	sync.Mutex
	bytes int64
	say   func(what string, bytes int64)
}

// Announce has every plan that exceeds the ones before told: what is about to be allocated and how much the process may
// hold then, in all. A plan is what is in use and what was weighed, and again as much for the collector, which lets garbage
// grow as large as what is in use; to be told seldom, it is a quarter larger than that.
func Announce(say func(what string, bytes int64)) {
	announced.Lock()
	defer announced.Unlock()
	announced.bytes, announced.say = 0, say
}

// announce tells the plan to allocate so many bytes more.
func announce(what string, bytes int64) {
	announced.Lock()
	defer announced.Unlock()
	if announced.say == nil {
		return
	}
	if total := add(always, add(inUse(), bytes)*2); total > announced.bytes {
		announced.bytes = total + total/4
		announced.say(what, announced.bytes)
	}
}

// inUse is the size of the heap's objects.
func inUse() int64 {
	objects := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(objects)
	return clamp(objects[0].Value.Uint64())
}

// Limit has the collector keep the process within what is available now, unless GOMEMLIMIT sets a limit: otherwise garbage
// alone could exceed the machine's memory.
func Limit() {
	if debug.SetMemoryLimit(-1) == unlimited {
		if available := Available(); available < unlimited {
			debug.SetMemoryLimit(available - available/10)
		}
	}
}
