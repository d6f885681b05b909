// Package memorytest bounds what tests allocate and how long they take.
package memorytest

import (
	"runtime/metrics"
	"testing"
	"time"
)

// Bounds of the work on any input, whatever sizes it states.
const (
	Most     = 1 << 30 // bytes
	mostTime = 10 * time.Second
)

// Bound fails the test if it allocates more than most bytes, or takes ten seconds, until the returned function is called.
func Bound(t *testing.T, most uint64) (check func()) {
	before, begun := allocated(), time.Now()
	return func() {
		t.Helper()
		if taken, time := allocated()-before, time.Since(begun); taken > most || time > mostTime {
			t.Errorf("it took %d MiB and %v", taken>>20, time)
		}
	}
}

// allocated is what was allocated so far.
func allocated() uint64 {
	total := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(total)
	return total[0].Value.Uint64()
}
